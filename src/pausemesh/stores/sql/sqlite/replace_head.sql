UPDATE heads
SET
  version = :version, kind = :kind, status = :status, open = :open, correlation = :correlation,
  owner = :owner, trace = :trace, queue = :queue, token_hash = :token_hash, due_at = :due_at,
  created_at = :created_at, updated_at = :updated_at, holder = :holder, fence = :fence,
  lease_until = :lease_until, done_at = :done_at, attempts = :attempts
WHERE scope = :scope AND stream = :stream
