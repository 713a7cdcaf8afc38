-- The clock is read once, so that the index can be used.
SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at,
  created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM pausemesh.heads
WHERE due_at <= (SELECT coalesce($1::timestamptz, clock_timestamp()))
ORDER BY due_at, scope, stream
LIMIT $2::bigint
