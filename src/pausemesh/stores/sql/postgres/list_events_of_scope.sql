-- The empty text keeps the order of seq: going over the scope's index would have to sort.
SELECT seq, scope, stream, version, id, type, at, data
FROM pausemesh.events
WHERE seq > $1::bigint AND scope || '' = $2::text
ORDER BY seq
LIMIT $3::bigint
