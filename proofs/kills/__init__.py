"""Kill -9, over and over: what was acknowledged is there, what was not is there whole or not at all."""
