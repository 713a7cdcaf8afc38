"""Exact retries: whoever asks again, from wherever and whenever, is told what the first was told, byte for byte."""
