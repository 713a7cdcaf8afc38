SELECT DISTINCT scope, stream
FROM pausemesh.events
WHERE (scope, stream) > ($1::text, $2::text)
ORDER BY scope, stream
LIMIT $3::bigint
