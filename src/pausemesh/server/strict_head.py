"""The raw head of an HTTP/1.1 request, judged before any parser sees it, so that all parsers agree about it.

RFC 9112 lets a server be lenient with bare line feeds, folded lines and odd framing; where two readers disagree about
them, requests can be smuggled past one of them. Here such a head is refused.
"""

import dataclasses
import re
from typing import Final

from pausemesh.server import limits

_END: Final = b"\r\n\r\n"
_MOST_BYTES: Final = limits.URL_BYTES + limits.HEADER_BYTES + 64
_BARE_LINE_END: Final = re.compile(rb"(?<!\r)\n|\r(?!\n)")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REQUEST_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} [\x21-\x7e]+ HTTP/1\.[01]")
_TARGET: Final = re.compile(rb"[^ ]* ([^ ]*)")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ABSOLUTE: Final = re.compile(rb"[!-~]+ /[!-~]* ")


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why a head is not passed on: the status and code of the answer, after which the connection is closed."""

    status: int
    code: str


class StrictHead:
    """Takes a connection's bytes in, gives those out that a parser may see.

    It knows where a body ends by its Content-Length alone. A chunked body ends the connection, so that nothing that
    comes after it can be taken for a head.
    """

    def __init__(self) -> None:
        self._head = bytearray()
        self._body_left: float = 0
        self.refusal: Refusal | None = None

    @property
    def is_inside(self) -> bool:
        """Whether a head has begun and is not complete."""
        return bool(self._head)

    def feed(self, data: bytes) -> bytes:
        """Return what may be passed on now; after a ``refusal`` nothing more."""
        passed: list[bytes] = []
        while data and self.refusal is None:
            if self._body_left:
                body, data = self._split(data)
                passed.append(body)
                continue
            if not self._head:
                data = data.lstrip(b"\r\n")  # RFC 9112, section 2.2: empty lines before a request line
            head, data = self._collect(data)
            if head is not None:
                passed.append(head)
        return b"".join(passed)

    def _split(self, data: bytes) -> tuple[bytes, bytes]:
        if self._body_left >= len(data):
            self._body_left -= len(data)
            return data, b""
        end = int(self._body_left)
        self._body_left = 0
        return data[:end], data[end:]

    def _collect(self, data: bytes) -> tuple[bytes | None, bytes]:
        """Return a head where it is complete, and what follows it."""
        searched = max(len(self._head) - len(_END) + 1, 0)
        self._head += data
        end = self._head.find(_END, searched)
        if end < 0:
            if len(self._head) > _MOST_BYTES or _BARE_LINE_END.search(self._head[:-1]):
                self.refusal = self._too_much()
            return None, b""
        end += len(_END)
        head, rest = bytes(self._head[:end]), bytes(self._head[end:])
        self._head.clear()
        self.refusal = self._judge(head)
        if self.refusal is not None:
            return None, b""
        return self._framed(head), rest

    def _too_much(self) -> Refusal:
        line, _, rest = bytes(self._head).partition(b"\n")
        if len(line) > limits.URL_BYTES + 64:
            return Refusal(414, "URI_TOO_LONG")
        return Refusal(431, "HEADERS_TOO_LARGE") if len(rest) > limits.HEADER_BYTES else _BAD

    def _judge(self, head: bytes) -> Refusal | None:
        line, _, fields = head.removesuffix(_END).partition(b"\r\n")
        target = _TARGET.match(line)
        if target is not None and len(target[1]) > limits.URL_BYTES:
            return Refusal(414, "URI_TOO_LONG")
        if len(fields) > limits.HEADER_BYTES:
            return Refusal(431, "HEADERS_TOO_LARGE")
        if _BARE_LINE_END.search(head) or _CONTROL.search(head) or not _REQUEST_LINE.fullmatch(line):
            return _BAD
        names = []
        for field in fields.split(b"\r\n") if fields else ():
            name, colon, value = field.partition(b":")
            if not colon or not _NAME.fullmatch(name):
                return _BAD  # also a folded line, which begins with a blank
            names.append(name.lower())
            if name.lower() == b"content-length" and not _is_length(value):
                return _BAD
        return None if _is_framed_once(names) and _ABSOLUTE.match(line) else _BAD

    def _framed(self, head: bytes) -> bytes:
        """Take note of how long the body is; after one of unknown length the connection ends."""
        lower = head.lower()
        if b"\r\ntransfer-encoding:" in lower:
            self._body_left = float("inf")
            return head.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"
        found = re.search(rb"\r\ncontent-length:[ \t]*([0-9]+)", lower)
        self._body_left = 0 if found is None else int(found[1])
        return head


_BAD: Final = Refusal(400, "INVALID_REQUEST")


def _is_length(value: bytes) -> bool:
    stripped = value.strip(b" \t")
    return stripped.isdigit() and len(stripped) <= len(str(2**63))


def _is_framed_once(names: list[bytes]) -> bool:
    """Tell whether there is one host, and one way at most to say how long the body is."""
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    return names.count(b"host") == 1 and lengths + codings <= 1
