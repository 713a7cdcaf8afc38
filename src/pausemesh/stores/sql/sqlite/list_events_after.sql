SELECT seq, scope, stream, version, id, type, at, data
FROM events
WHERE seq > :after_seq
ORDER BY seq
LIMIT :limit
