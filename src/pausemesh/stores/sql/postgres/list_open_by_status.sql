SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at,
  created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM pausemesh.heads
WHERE scope = $1::text AND kind = $2::text AND open AND status = $3::text
  AND (created_at, stream) > ($4::timestamptz, $5::text)
ORDER BY created_at, stream
LIMIT $6::bigint
