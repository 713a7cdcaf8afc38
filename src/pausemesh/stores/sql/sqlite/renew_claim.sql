UPDATE heads
SET lease_until = :lease_until
WHERE scope = :scope AND stream = :stream AND fence = :fence AND holder IS NOT NULL
  AND lease_until > :now AND done_at IS NULL
RETURNING holder, fence, attempts
