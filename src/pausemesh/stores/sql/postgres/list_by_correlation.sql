SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at,
  created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM pausemesh.heads
WHERE scope = $1::text AND correlation = $2::text AND stream > $3::text
ORDER BY stream
LIMIT $4::bigint
