-- Without statistics the planner would go over the whole scope.
SELECT
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash,
  due_at, created_at, updated_at, holder, fence, lease_until, done_at, attempts
FROM heads INDEXED BY heads_by_correlation
WHERE scope = :scope AND correlation = :correlation AND stream > :after
ORDER BY stream
LIMIT :limit
