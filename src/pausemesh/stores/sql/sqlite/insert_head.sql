INSERT INTO heads (
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash,
  due_at, created_at, updated_at, holder, fence, lease_until, done_at, attempts
) VALUES (
  :scope, :stream, :version, :kind, :status, :open, :correlation, :owner, :trace, :queue,
  :token_hash, :due_at, :created_at, :updated_at, :holder, :fence, :lease_until, :done_at,
  :attempts
)
