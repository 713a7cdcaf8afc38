SELECT scope, at, id, action, noun, noun_id, correlation, actor, digest, note
FROM audit_log
WHERE scope = :scope AND (at, id) > (:after_at, :after_id)
ORDER BY at, id
LIMIT :limit
