UPDATE heads
SET
  version = :version, status = :status, open = :open, owner = :owner, trace = :trace,
  queue = :queue, token_hash = :token_hash, due_at = :due_at, updated_at = :updated_at,
  done_at = :done_at
WHERE scope = :scope AND stream = :stream AND version = :expected_version
