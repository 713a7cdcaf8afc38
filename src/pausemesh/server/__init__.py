"""The HTTP server: one ASGI app over a mesh, and the process that serves it."""
