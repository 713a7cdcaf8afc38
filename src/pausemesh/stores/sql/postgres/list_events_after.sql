SELECT seq, scope, stream, version, id, type, at, data
FROM pausemesh.events
WHERE seq > $1::bigint
ORDER BY seq
LIMIT $2::bigint
