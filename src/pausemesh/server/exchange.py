"""The outermost layer: every request gets a name, a time, one log line, and an answer whatever happens inside."""

import asyncio
import contextlib
import itertools
import logging
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
    UriTooLong,
)
from pausemesh.server.headers import has_body, read_headers
from pausemesh.server.problems import code_of, problem_answer
from pausemesh.server.query import refuse_credentials
from pausemesh.server.serving import Serving
from pausemesh.telemetry.log import logger

_CLOSING: Final = (
    BadTransport,
    HeadersTooLarge,
    PayloadTooLarge,
    RequestTimeout,
    UriTooLong,
)
"""After these the connection ends, whatever was read."""

_CLOSE: Final = (b"connection", b"close")
_ACCESS: Final = logging.getLogger("pausemesh.access")
_LOG: Final = logger(_ACCESS.name)
_PROCESS: Final = secrets.token_hex(6)
_NUMBERS: Final = itertools.count(1)
_UNPRINTABLE: Final = frozenset({"\ufffd"})
_SLASH: Final = b"%2f"
"""It would look like the end of an id to us, and like a part of it to whoever stands before us."""


class Exchange:
    """One request and its answer, around the operations; those at ``public`` paths are never too many."""

    def __init__(self, app: ASGIApp, serving: Serving, *, public: frozenset[str]) -> None:
        self._app = app
        self._serving = serving
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        started = time.monotonic()
        record = Record(receive, send)
        scope["pausemesh"] = record
        if scope.get("client"):
            record.client = str(scope["client"][0])
        metrics = self._serving.metrics
        metrics.request_started()
        self._serving.in_flight += 1
        try:
            await self._answer(scope, record)
        except ClientGone:
            record.code = "CLIENT_GONE"
        finally:
            self._serving.in_flight -= 1
            seconds = time.monotonic() - started
            method = str(scope["method"])
            metrics.request_ended(record.route, method, record.status, seconds)
            if _ACCESS.isEnabledFor(logging.INFO):
                _log_request(record, method, seconds)

    async def _answer(self, scope: Scope, record: "Record") -> None:
        try:
            headers = scope["pausemesh.headers"] = require_readable(scope)
            record.is_unread = has_body(headers)
            require_clean_url(scope)
            if str(scope["path"]).removeprefix(scope.get("root_path", "")) not in self._public:
                await self._serving.callers.require_own_host(headers)
                self._serving.require_room()
            await self._app(scope, record.receive, record.send)
        except PauseMeshError as error:
            if not isinstance(error, _CLOSING):
                await record.skip_body(scope["pausemesh.headers"])
            await record.refuse(error)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer without internals
            _LOG.error("failed", request_id=record.request_id, route=record.route, exc_info=error)
            await record.refuse(InternalError())


class Record:
    """What is known of a request and its answer; ``is_unread``: a body was announced and has not come whole."""

    __slots__ = ("_receive", "_send", "caller", "client", "code", "is_unread", "request_id", "route", "status")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.is_unread = True
        self.request_id = f"{_PROCESS}-{next(_NUMBERS):x}"
        self.route = "unknown"
        self.status = 0
        self.code: str | None = None
        self.caller: dict[str, str] = {}
        self.client = "-"

    async def receive(self) -> Message:
        """Pass a part of the body on."""
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self.is_unread = False
        return message

    async def send(self, message: Message) -> None:
        """Pass an answer on, with the request's id; the rest of a body that nobody wants is not waited for."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.request_id.encode())]
            if self.is_unread and _CLOSE not in message["headers"]:
                message["headers"].append(_CLOSE)
        await self._send(message)

    async def skip_body(self, headers: Mapping[bytes, bytes]) -> None:
        """Read a small body that nobody wants, if it is there soon: so the client is not cut off while it sends."""
        is_small = 0 < int(headers.get(b"content-length", b"0")) <= limits.UNWANTED_BODY_BYTES
        if not self.is_unread or not is_small or b"expect" in headers:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.UNWANTED_BODY_SECONDS):
                while self.is_unread:
                    if (await self.receive())["type"] == "http.disconnect":
                        raise ClientGone

    async def refuse(self, error: PauseMeshError) -> None:
        """Answer with a problem; an answer that has begun can only be broken off."""
        self.code = code_of(error)
        if self.status:
            raise error from None
        self.is_unread |= isinstance(error, _CLOSING)
        await problem_answer(error).send(self.send)


def _log_request(record: Record, method: str, seconds: float) -> None:
    _LOG.info(
        "request",
        request_id=record.request_id,
        method=method if method.isalpha() else "other",
        route=record.route,
        status=record.status,
        milliseconds=round(seconds * 1_000, 3),
        code=record.code,
        client=record.client,
        **record.caller,
    )


def require_readable(scope: Mapping[str, Any]) -> Mapping[bytes, bytes]:
    """Return the headers of a request that can be read without doubt.

    Raises:
        UriTooLong: the URL is longer than 4 KiB.
        HeadersTooLarge, BadTransport: see ``read_headers``.
    """
    query = bytes(scope["query_string"])
    if len(scope.get("raw_path") or b"") + len(query) + bool(query) > limits.URL_BYTES:
        raise UriTooLong
    return read_headers(scope["headers"], http_version=str(scope.get("http_version", "1.1")))


def require_clean_url(scope: Mapping[str, Any]) -> None:
    """Pass a URL that can be one of ours.

    Raises:
        RouteNotFound: the path has bytes that no path here has.
        CredentialInUrl: there is a credential in it.
    """
    path = str(scope["path"])
    if not path.isprintable() or not _UNPRINTABLE.isdisjoint(path) or _SLASH in (scope.get("raw_path") or b"").lower():
        raise RouteNotFound
    refuse_credentials(path, bytes(scope["query_string"]))
