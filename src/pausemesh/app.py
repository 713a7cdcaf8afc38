"""The HTTP server as an ASGI app, for hosts that have one of their own."""

from pausemesh.server.app import PauseMeshApp, create_app
from pausemesh.server.authentication import ApiKeyAuthenticator, Authenticator
from pausemesh.server.errors import Unauthenticated
from pausemesh.server.serving import ReadinessProbe

__all__ = [
    "ApiKeyAuthenticator",
    "Authenticator",
    "PauseMeshApp",
    "ReadinessProbe",
    "Unauthenticated",
    "create_app",
]
