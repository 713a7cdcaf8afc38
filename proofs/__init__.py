"""Long proofs: what is promised, tried out thousands of times with kills, power cuts and races.

``python -m proofs --quick`` runs them all and prints a table. Each proof has a control beside it where one is
possible: the same check on something that is broken on purpose, which must be caught.
"""
