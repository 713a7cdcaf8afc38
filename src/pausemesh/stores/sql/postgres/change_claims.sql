SELECT *
FROM pausemesh.change_claims_1(
  $1::timestamptz, $2::text, $3::integer[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[]
)
