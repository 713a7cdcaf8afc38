SELECT seq, scope, stream, version, id, type, at, data
FROM events
WHERE scope = :scope AND stream = :stream
ORDER BY version
LIMIT :limit
