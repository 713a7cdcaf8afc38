"""The use cases: the only place where decisions of the core meet the world behind the ports."""
