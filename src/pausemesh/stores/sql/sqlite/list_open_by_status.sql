SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash,
  due_at, created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM heads INDEXED BY heads_open
WHERE scope = :scope AND kind = :kind AND open = 1 AND status = :status
  AND (created_at, stream) > (:after_created_at, :after_stream)
ORDER BY created_at, stream
LIMIT :limit
