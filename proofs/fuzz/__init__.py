"""Input that nobody would send in good faith: to every parser, and to the whole HTTP interface."""
