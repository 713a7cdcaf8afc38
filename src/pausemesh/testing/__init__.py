"""For authors of stores and hosts: a conformance suite, a clock you move, and crash points."""
