"""What is made from the code for the documentation: ``python -m tools`` writes it, a test compares it."""
