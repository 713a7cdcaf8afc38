UPDATE heads
SET holder = :holder, fence = fence + 1, lease_until = :lease_until, attempts = attempts + 1
WHERE scope = :scope AND stream = (
  SELECT stream
  FROM heads INDEXED BY heads_queued
  WHERE scope = :scope AND queue = :queue AND open = 0 AND done_at IS NULL
    AND (lease_until IS NULL OR lease_until <= :now)
  ORDER BY updated_at, stream
  LIMIT 1
)
RETURNING stream, fence, attempts
