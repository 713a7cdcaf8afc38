SELECT max(seq)
FROM events
