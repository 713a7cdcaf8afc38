SELECT seq, id, at
FROM events
WHERE scope = :scope AND stream = :stream AND version = :version
