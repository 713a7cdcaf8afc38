SELECT pausemesh.beat_1($1::timestamptz, $2::text, $3::text[], $4::text[])
