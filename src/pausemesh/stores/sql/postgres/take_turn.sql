SELECT pausemesh.take_turn_1($1::text)
