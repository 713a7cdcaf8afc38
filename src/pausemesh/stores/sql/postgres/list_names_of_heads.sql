SELECT scope, stream
FROM pausemesh.heads
WHERE (scope, stream) > ($1::text, $2::text)
ORDER BY scope, stream
LIMIT $3::bigint
