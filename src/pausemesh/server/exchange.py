"""The outermost layer: every request gets a name, a time, one log line, and an answer whatever happens inside."""

import itertools
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.errors import PayloadTooLarge
from pausemesh.server import limits
from pausemesh.server.body import ClientGone
from pausemesh.server.errors import (
    BadTransport,
    HeadersTooLarge,
    InternalError,
    RequestTimeout,
    RouteNotFound,
    UnsupportedMediaType,
    UriTooLong,
)
from pausemesh.server.headers import read_headers
from pausemesh.server.problems import code_of, problem_answer
from pausemesh.server.query import refuse_credentials
from pausemesh.server.serving import Serving
from pausemesh.telemetry.log import logger

_CLOSING: Final = (
    BadTransport,
    HeadersTooLarge,
    PayloadTooLarge,
    RequestTimeout,
    UnsupportedMediaType,
    UriTooLong,
)
"""After these the connection ends, since the rest of the request is not read."""

_LOG: Final = logger("pausemesh.access")
_PROCESS: Final = secrets.token_hex(6)
_NUMBERS: Final = itertools.count(1)
_UNPRINTABLE: Final = frozenset({"\ufffd"})


class Exchange:
    """One request and its answer, around the operations."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        started = time.monotonic()
        record = Record(send)
        scope["pausemesh"] = record
        metrics = self._serving.metrics
        metrics.request_started()
        self._serving.in_flight += 1
        try:
            await self._answer(scope, receive, record)
        except ClientGone:
            record.code = "CLIENT_GONE"
        finally:
            self._serving.in_flight -= 1
            seconds = time.monotonic() - started
            method = str(scope["method"])
            metrics.request_ended(record.route, method, record.status, seconds)
            _LOG.info(
                "request",
                request_id=record.request_id,
                method=method if method.isalpha() else "other",
                route=record.route,
                status=record.status,
                milliseconds=round(seconds * 1_000, 3),
                code=record.code,
                **record.caller,
            )

    async def _answer(self, scope: Scope, receive: Receive, record: "Record") -> None:
        try:
            scope["pausemesh.headers"] = require_clean(scope)
            self._serving.require_room()
            await self._app(scope, receive, record.send)
        except PauseMeshError as error:
            await record.refuse(error)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer without internals
            _LOG.error("failed", request_id=record.request_id, route=record.route, exc_info=error)
            await record.refuse(InternalError())


class Record:
    """What is known of a request and its answer, for the log."""

    __slots__ = ("_send", "caller", "code", "request_id", "route", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = f"{_PROCESS}-{next(_NUMBERS):x}"
        self.route = "unknown"
        self.status = 0
        self.code: str | None = None
        self.caller: dict[str, str] = {}

    async def send(self, message: Message) -> None:
        """Pass an answer on, with the request's id."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.request_id.encode())]
        await self._send(message)

    async def refuse(self, error: PauseMeshError) -> None:
        """Answer with a problem; an answer that has begun can only be broken off."""
        self.code = code_of(error)
        if self.status:
            raise error
        close = isinstance(error, _CLOSING)
        await problem_answer(error, close=close).send(self.send)


def require_clean(scope: Mapping[str, Any]) -> Mapping[bytes, bytes]:
    """Return the headers of a request that can be read without doubt.

    Raises:
        UriTooLong, HeadersTooLarge, BadTransport, IdempotencyKeyInvalid: see ``read_headers``.
        RouteNotFound: the path has bytes that no path here has.
        CredentialInUrl: the URL has a credential.
    """
    path, query = str(scope["path"]), bytes(scope["query_string"])
    raw_path = scope.get("raw_path") or b""
    if len(raw_path) + len(query) + 1 > limits.URL_BYTES:
        raise UriTooLong
    headers = read_headers(scope["headers"], http_version=str(scope.get("http_version", "1.1")))
    if not path.isprintable() or not _UNPRINTABLE.isdisjoint(path):
        raise RouteNotFound
    refuse_credentials(path, query)
    return headers
