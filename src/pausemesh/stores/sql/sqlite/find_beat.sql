SELECT beat_at
FROM beats
WHERE scope = :scope AND stream = :stream
