SELECT DISTINCT scope, stream
FROM events
WHERE (scope, stream) > (:after_scope, :after_stream)
ORDER BY scope, stream
LIMIT :limit
