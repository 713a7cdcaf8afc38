INSERT INTO pausemesh.migrations (number, name, checksum, applied_at)
VALUES ($1::integer, $2::text, $3::text, clock_timestamp())
RETURNING number
