SELECT scope, at, id, action, noun, noun_id, correlation, actor, digest, note
FROM pausemesh.audit_log
WHERE scope = $1::text AND (at, id) > ($2::timestamptz, $3::uuid)
ORDER BY at, id
LIMIT $4::bigint
