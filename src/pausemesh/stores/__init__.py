"""The event stores, and what they share; the port is ``pausemesh.ports.EventStore``."""
