SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash,
  due_at, created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM heads
WHERE scope = :scope AND stream = :stream
