"""Refusals that only a server makes; each has its row in ``problems``."""

from collections.abc import Iterable

from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.errors import InvalidRequest, NotFound


class BadTransport(InvalidRequest):
    """The request cannot be read as HTTP/1.1 without doubt."""


class CredentialInUrl(InvalidRequest):
    """A credential stands in the URL, where logs and histories keep it; it was not used."""

    code = "CREDENTIAL_IN_URL"


class Unauthenticated(PauseMeshError):
    """A valid API key is needed, as Authorization: Bearer or, beside a resume token, as X-API-Key."""

    code = "UNAUTHENTICATED"


class RouteNotFound(NotFound):
    """There is nothing at this path."""


class MethodNotAllowed(PauseMeshError):
    """The path does not know this method."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, *, allowed: Iterable[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__()


class RequestTimeout(PauseMeshError):
    """The body did not arrive in time."""

    code = "REQUEST_TIMEOUT"


class UriTooLong(PauseMeshError):
    """The URL is longer than allowed."""

    code = "URI_TOO_LONG"


class HeadersTooLarge(PauseMeshError):
    """The headers are larger than allowed."""

    code = "HEADERS_TOO_LARGE"


class UnsupportedMediaType(PauseMeshError):
    """The body must be application/json in UTF-8, without a content coding."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class Misdirected(PauseMeshError):
    """Without an API key this server answers to localhost, 127.0.0.1 and [::1] only."""

    code = "MISDIRECTED"


class EventsGone(PauseMeshError):
    """The position is not one of this log; begin again without one."""

    code = "EVENTS_GONE"


class RateLimited(PauseMeshError):
    """Too many requests of this kind; wait and try again."""

    code = "RATE_LIMITED"

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__()


class InternalError(PauseMeshError):
    """Something went wrong here."""

    code = "INTERNAL_ERROR"
