SELECT scope, stream
FROM heads
WHERE (scope, stream) > (:after_scope, :after_stream)
ORDER BY scope, stream
LIMIT :limit
