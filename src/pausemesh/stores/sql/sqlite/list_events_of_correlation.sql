-- Only seqs are sorted, from indexes alone; content is read for those that are returned.
SELECT seq, scope, stream, version, id, type, at, data
FROM events
WHERE seq IN (
  SELECT events.seq
  FROM heads INDEXED BY heads_by_correlation CROSS JOIN events ON events.scope = heads.scope AND events.stream = heads.stream
  WHERE heads.scope = :scope AND heads.correlation = :correlation AND events.seq > :after_seq
  ORDER BY events.seq
  LIMIT :limit
)
ORDER BY seq
