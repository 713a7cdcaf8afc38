UPDATE heads
SET holder = NULL, lease_until = NULL
WHERE scope = :scope AND stream = :stream AND fence = :fence AND holder IS NOT NULL
  AND lease_until > :now AND done_at IS NULL
RETURNING stream
