"""The headers that the server reads, each given once; and what is wrong with the others."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pausemesh.core.errors import IdempotencyKeyInvalid
from pausemesh.core.issue import Issue
from pausemesh.server import limits
from pausemesh.server.errors import BadTransport, HeadersTooLarge

_ONCE: Final = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"transfer-encoding",
        b"x-api-key",
    }
)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_DIGITS: Final = re.compile(rb"[0-9]{1,19}")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_FORWARDED: Final = b"x-forwarded-"
_BETWEEN_BYTES: Final = len(b":\r\n")


def read_headers(raw: Iterable[tuple[bytes, bytes]], *, http_version: str) -> Mapping[bytes, bytes]:
    """Return the headers by lower-case name.

    Two idempotency keys are kept as two lines, which no key can be.

    Raises:
        HeadersTooLarge: they are more than 16 KiB.
        BadTransport: one that must stand once stands twice, a host is missing, a length is no number, a length and a
            transfer coding are both given, or a control character is in a value.
    """
    headers: dict[bytes, bytes] = {}
    size = 0
    for name, value in raw:
        size += len(name) + len(value) + _BETWEEN_BYTES
        if size > limits.HEADER_BYTES:
            raise HeadersTooLarge
        if _CONTROL.search(value):
            raise _bad("A header has a control character.")
        if name in headers and name in _ONCE:
            if name != b"idempotency-key":
                raise _bad("A header that may stand once stands twice.")
            value = b"\n".join((headers[name], value))  # noqa: PLW2901 - what is kept is not what was sent
        headers[name] = value
    if http_version != "1.0" and b"host" not in headers:
        raise _bad("The Host header is missing.")
    _require_one_framing(headers)
    return headers


def _require_one_framing(headers: Mapping[bytes, bytes]) -> None:
    length, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
    if length is not None and coding is not None:
        raise _bad("Content-Length and Transfer-Encoding exclude each other.")
    if length is not None and not _DIGITS.fullmatch(length):
        raise _bad("Content-Length is not a number.")
    if coding is not None and coding.strip().lower() != b"chunked":
        raise _bad("The transfer coding is not chunked.")


def has_body(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a body follows the head."""
    return b"transfer-encoding" in headers or int(headers.get(b"content-length", b"0")) > 0


def is_forwarded(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a proxy passed the request on."""
    return any(name == b"forwarded" or name.startswith(_FORWARDED) for name in headers)


def credential_of(headers: Mapping[bytes, bytes], scheme: str) -> str | None:
    """Return what Authorization holds under a scheme, whose case does not matter; None: another one or nothing."""
    given, _, value = headers.get(b"authorization", b"").decode("latin-1").strip().partition(" ")
    return value.strip() if given.lower() == scheme.lower() else None


def idempotency_key_in(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the key, without the quotation marks of a structured field (RFC 9651): ``"k"`` and ``k`` are the same.

    Raises:
        IdempotencyKeyInvalid: it is not ASCII text, or a string that does not end.
    """
    raw = headers.get(b"idempotency-key")
    if raw is None:
        return None
    if not raw.isascii():
        raise IdempotencyKeyInvalid
    text = raw.decode("ascii").strip()
    quoted = _QUOTED.fullmatch(text)
    if quoted is None and text.startswith('"'):
        raise IdempotencyKeyInvalid
    return text if quoted is None else re.sub(r"\\(.)", r"\1", quoted[1])


def parameters_of(media_type: str) -> tuple[str, dict[str, str]]:
    """Split a Content-Type into its type and its parameters, names and type in lower case."""
    kind, *rest = media_type.split(";")
    pairs = [part.partition("=") for part in rest if part.strip()]
    return kind.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def _bad(message: str) -> BadTransport:
    return BadTransport(issues=[Issue("", "transport", message)])
