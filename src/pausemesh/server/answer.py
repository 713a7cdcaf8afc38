"""What an operation gives back, and how it is sent."""

import dataclasses
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec
from starlette.types import Send

from pausemesh.core.document import Document
from pausemesh.core.envelope import Continuation, envelope_members

JSON: Final = (b"content-type", b"application/json")

COMMON: Final = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer; header names are in lower case."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = (JSON,)

    async def send(self, send: Send) -> None:
        """Send it."""
        headers = [*self.headers, *COMMON]
        if self.status != HTTPStatus.NO_CONTENT:  # RFC 9110, section 8.6: it has no length
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Sendable(Protocol):
    """Whatever can be sent as the answer to a request."""

    async def send(self, send: Send) -> None:
        """Send it whole."""
        ...


def json_answer(members: dict[str, Any], *, status: int = 200) -> Answer:
    """Return JSON; what ``continuation_members`` gave may be inside."""
    return Answer(status=status, body=msgspec.json.encode(members))


def continuation_members(continuation: Continuation) -> dict[str, Any]:
    """Return a continuation's JSON, its documents as the very bytes that are stored."""
    return envelope_members(continuation, embedded)


def embedded(document: Document) -> msgspec.Raw:
    """Return a document as the bytes that are stored, for JSON to be written around them."""
    return msgspec.Raw(document.data)
