SELECT *
FROM pausemesh.append_many_1(
  $1::timestamptz, $2::text, $3::bigint,
  $4::integer[], $5::text[], $6::text[], $7::bigint[], $8::integer[],
  $9::uuid[], $10::uuid[], $11::bytea[], $12::integer[], $13::bigint[], $14::boolean[],
  $15::timestamptz[], $16::boolean[],
  $17::text[], $18::text[], $19::boolean[], $20::text[], $21::text[], $22::text[],
  $23::text[], $24::bytea[], $25::timestamptz[],
  $26::integer[], $27::text[], $28::text[], $29::bigint[], $30::uuid[], $31::text[], $32::bytea[],
  $33::integer[], $34::text[], $35::uuid[], $36::text[], $37::text[], $38::text[],
  $39::text[], $40::text[], $41::text[], $42::text[]
)
