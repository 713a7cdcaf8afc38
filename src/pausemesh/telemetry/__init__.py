"""What an operator sees of a running mesh: one JSON line a record, and numbers; never what anybody wrote or may do."""
