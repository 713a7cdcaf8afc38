-- Numbers are given once and never taken back: a rolled back write leaves none behind.
SELECT
  count(*), coalesce(max(seq), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)
FROM events
