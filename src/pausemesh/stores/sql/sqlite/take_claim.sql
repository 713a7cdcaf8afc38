UPDATE heads
SET holder = :holder, fence = fence + 1, lease_until = :lease_until, attempts = attempts + 1
WHERE scope = :scope AND stream = :stream AND open = 0 AND done_at IS NULL
  AND (lease_until IS NULL OR lease_until <= :now)
RETURNING stream, fence, attempts
