SELECT *
FROM pausemesh.append_one_1(
  $1::timestamptz, $2::text, $3::bigint,
  $4::text, $5::text, $6::bigint, $7::bytea, $8::integer, $9::bigint, $10::boolean,
  $11::timestamptz, $12::boolean,
  $13::text, $14::text, $15::boolean, $16::text, $17::text, $18::text, $19::text,
  $20::bytea, $21::timestamptz,
  $22::uuid, $23::text, $24::bytea
)
