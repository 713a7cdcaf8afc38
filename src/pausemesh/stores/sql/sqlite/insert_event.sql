INSERT INTO events (scope, stream, version, id, type, at, data)
VALUES (:scope, :stream, :version, :id, :type, :at, :data)
