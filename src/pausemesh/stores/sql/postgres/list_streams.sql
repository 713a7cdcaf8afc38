-- Heads and events as of one moment; some may be there without the other. Of each stream at most $3 events.
SELECT
  w.number,
  h.version, h.kind, h.status, h.open, h.correlation, h.owner, h.trace, h.queue, h.token_hash, h.due_at,
  h.created_at, h.updated_at, h.holder, h.fence, h.lease_until, h.done_at, h.attempts,
  e.version, e.id, e.type, e.at, e.seq, e.data
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (scope, stream, number)
LEFT JOIN pausemesh.heads AS h ON h.scope = w.scope AND h.stream = w.stream
LEFT JOIN LATERAL (
  SELECT version, id, type, at, seq, data
  FROM pausemesh.events
  WHERE scope = w.scope AND stream = w.stream
  ORDER BY version
  LIMIT $3::bigint
) AS e ON true
ORDER BY w.number, e.version
