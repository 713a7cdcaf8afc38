INSERT INTO beats (scope, stream, beat_at)
SELECT scope, stream, :beat_at FROM heads WHERE scope = :scope AND stream = :stream
ON CONFLICT (scope, stream) DO UPDATE SET beat_at = excluded.beat_at
