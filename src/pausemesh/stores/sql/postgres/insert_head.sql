INSERT INTO pausemesh.heads (
  scope, stream, version, kind, status, open, correlation, owner, trace, queue, token_hash, due_at, created_at,
  updated_at, holder, fence, lease_until, done_at, attempts
) VALUES (
  $1::text, $2::text, $3::bigint, $4::text, $5::text, $6::boolean, $7::text, $8::text, $9::text, $10::text,
  $11::bytea, $12::timestamptz, $13::timestamptz, $14::timestamptz, $15::text, $16::bigint, $17::timestamptz,
  $18::timestamptz, $19::bigint
)
