-- The plus keeps the order of seq: going over the scope's index would have to sort.
SELECT seq, scope, stream, version, id, type, at, data
FROM events
WHERE seq > :after_seq AND +scope = :scope
ORDER BY seq
LIMIT :limit
