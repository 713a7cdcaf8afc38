"""The pure core: what may happen, decided without input, output, clock or randomness."""
