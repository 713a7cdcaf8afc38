INSERT INTO audit_log (
  scope, at, id, action, noun, noun_id, correlation, actor, digest, note
) VALUES (
  :scope, :at, :id, :action, :noun, :noun_id, :correlation, :actor, :digest, :note
)
