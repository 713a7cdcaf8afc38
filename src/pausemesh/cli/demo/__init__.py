"""``pausemesh demo``: real processes ask, are killed, answer at once and book, on one SQLite file."""
