UPDATE pausemesh.heads
SET
  version = $3::bigint, kind = $4::text, status = $5::text, open = $6::boolean, correlation = $7::text,
  owner = $8::text, trace = $9::text, queue = $10::text, token_hash = $11::bytea, due_at = $12::timestamptz,
  created_at = $13::timestamptz, updated_at = $14::timestamptz, holder = $15::text, fence = $16::bigint,
  lease_until = $17::timestamptz, done_at = $18::timestamptz, attempts = $19::bigint
WHERE scope = $1::text AND stream = $2::text
