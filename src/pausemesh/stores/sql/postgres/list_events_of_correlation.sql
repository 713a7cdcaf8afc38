-- Only seqs are sorted; content is read for those that are returned.
SELECT e.seq, e.scope, e.stream, e.version, e.id, e.type, e.at, e.data
FROM (
  SELECT found.seq
  FROM pausemesh.heads
  JOIN pausemesh.events AS found ON found.scope = heads.scope AND found.stream = heads.stream
  WHERE heads.scope = $1::text AND heads.correlation = $2::text AND found.seq > $3::bigint
  ORDER BY found.seq
  LIMIT $4::bigint
) AS wanted
JOIN pausemesh.events AS e ON e.seq = wanted.seq
ORDER BY e.seq
