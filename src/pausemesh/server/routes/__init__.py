"""The operations, a file for each noun."""
