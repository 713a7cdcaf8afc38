"""The same cycle as others do it; these run in an environment of their own, without PauseMesh."""
