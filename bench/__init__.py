"""Measurements: every speed is a ratio inside one interleaved run, since machines are noisy and shared."""
