"""The raw bytes of an HTTP/1.1 connection, judged before any parser sees them, so that all parsers agree about them.

RFC 9112 lets a server be lenient with bare line feeds, folded lines and odd framing; where two readers disagree about
them, requests can be smuggled past one of them. Here they are refused, and so is the little that the parsers would
treat differently.
"""

import dataclasses
import enum
import re
from typing import Final

from pausemesh.server import limits

_LINE_END: Final = b"\r\n"
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/(1\.[01])\r\n")
_TARGET: Final = re.compile(rb"[^ \r\n]* ([^ \r\n]*)")
_ORIGIN_FORM: Final = re.compile(rb"/[^#]*")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)\r\n")
_HOST: Final = re.compile(rb"[0-9A-Za-z.\-_~!$&'()*+,;=%:\[\]]*")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r\n")

_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
_KNOWN_METHODS: Final = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE"})
_ANY_OTHER_METHOD: Final = b"TRACE"
"""One parser refuses what it does not know, another passes it on. Nothing here is served by any of them."""

_LINE_BYTES: Final = 32 + limits.URL_BYTES + len(b"  HTTP/1.1\r\n")
_CHUNK_SIZE_BYTES: Final = 256
_LENGTH_DIGITS: Final = 19


class _Next(enum.Enum):
    """What the next line is."""

    REQUEST = enum.auto()
    FIELD = enum.auto()
    CHUNK = enum.auto()
    CHUNK_END = enum.auto()
    LAST_CHUNK_END = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing more is passed on: the status and code of the answer, after which the connection is closed."""

    status: int
    code: str


_BAD: Final = Refusal(400, "INVALID_REQUEST")
_LONG_TARGET: Final = Refusal(414, "URI_TOO_LONG")
_LARGE_HEAD: Final = Refusal(431, "HEADERS_TOO_LARGE")
_TOO_LONG: Final = {_Next.REQUEST: _LONG_TARGET, _Next.FIELD: _LARGE_HEAD}


@dataclasses.dataclass(slots=True)
class _Head:
    """The head that is being read, and how long the body after it is."""

    version: bytes
    lines: list[bytes]
    bytes_left: int = limits.HEADER_BYTES
    hosts: int = 0
    length: int | None = None
    is_chunked: bool = False

    def take(self, line: bytes) -> bool:
        """Take a field in; False where it may not be passed on."""
        field = _FIELD.fullmatch(line)
        if field is None:
            return False
        name, value = field[1].lower(), field[2].rstrip(b" \t")
        if name == b"upgrade":
            return True  # RFC 9110, section 7.8: may be ignored; a parser that sees it drops what follows
        if name in _FRAMING:
            line = b"%b: %b\r\n" % (field[1], value)  # a tab after it confuses one of the parsers
        self.lines.append(line)
        if name == b"host":
            self.hosts += 1
            return _HOST.fullmatch(value) is not None
        is_framed = self.is_chunked or self.length is not None
        if name == b"content-length":
            self.length = int(value) if value.isdigit() and len(value) <= _LENGTH_DIGITS else None
            return self.length is not None and not is_framed
        if name == b"transfer-encoding":
            self.is_chunked = True
            return value.lower() == b"chunked" and not is_framed and self.version != b"1.0"
        return True


class StrictHead:
    """Takes a connection's bytes in, gives those out that a parser may see.

    What it passes on and what it refuses follow from the bytes alone, however they are cut into pieces: a line is
    judged when it is complete or longer than it may be, and not before.
    """

    def __init__(self) -> None:
        self._next = _Next.REQUEST
        self._line = bytearray()
        self._head: _Head | None = None
        self._left = 0
        self.refusal: Refusal | None = None

    @property
    def is_inside(self) -> bool:
        """Whether a head has begun and is not complete."""
        return self._head is not None or (self._next is _Next.REQUEST and bool(self._line))

    @property
    def is_in_body(self) -> bool:
        """Whether a chunked body has begun and is not complete; others end where they say."""
        return self._next in {_Next.CHUNK, _Next.CHUNK_END, _Next.LAST_CHUNK_END}

    def feed(self, data: bytes) -> bytes:
        """Return what may be passed on now; after a ``refusal`` nothing more."""
        passed: list[bytes] = []
        at = 0
        while at < len(data) and self.refusal is None:
            if self._left:
                end = min(at + self._left, len(data))
                self._left -= end - at
                passed.append(data[at:end])
                at = end
                continue
            at, line = self._collect(data, at)
            if line is not None:
                passed.append(self._take(line))
        return b"".join(passed)

    def _collect(self, data: bytes, at: int) -> tuple[int, bytes | None]:
        """Return where to go on, and a line where one is complete."""
        room = self._room() - len(self._line)
        end = data.find(b"\n", at, at + room) + 1
        if end:
            line = bytes(self._line) + data[at:end]
            self._line.clear()
            return end, line
        if len(data) - at >= room:
            self.refusal = _TOO_LONG.get(self._next, _BAD)
        self._line += data[at : at + room]
        return min(at + room, len(data)), None

    def _room(self) -> int:
        """Return how long the next line may be."""
        if self._next is _Next.REQUEST:
            return _LINE_BYTES
        if self._head is not None:
            return self._head.bytes_left + len(_LINE_END)
        return _CHUNK_SIZE_BYTES if self._next is _Next.CHUNK else len(_LINE_END)

    def _take(self, line: bytes) -> bytes:
        """Judge a line, and return what may be passed on with it."""
        if self._next is _Next.REQUEST:
            return self._begin(line)
        if self._head is not None:
            return self._go_on(self._head, line)
        if self._next is _Next.CHUNK:
            return self._begin_chunk(line)
        if line != _LINE_END:
            return self._refuse(_BAD)
        self._next = _Next.CHUNK if self._next is _Next.CHUNK_END else _Next.REQUEST
        return line

    def _begin(self, line: bytes) -> bytes:
        if line == _LINE_END:
            return b""  # RFC 9112, section 2.2: an empty line before a request line
        target = _TARGET.match(line)
        if target is not None and len(target[1]) > limits.URL_BYTES:
            return self._refuse(_LONG_TARGET)
        found = _REQUEST_LINE.fullmatch(line)
        if found is None or not _ORIGIN_FORM.fullmatch(found[2]):
            return self._refuse(_BAD)
        method = found[1] if found[1] in _KNOWN_METHODS else _ANY_OTHER_METHOD
        self._head = _Head(version=found[3], lines=[b"%b %b HTTP/%b\r\n" % (method, found[2], found[3])])
        self._next = _Next.FIELD
        return b""

    def _go_on(self, head: _Head, line: bytes) -> bytes:
        if line == _LINE_END:
            return self._end(head)
        if len(line) > head.bytes_left:
            return self._refuse(_LARGE_HEAD)
        head.bytes_left -= len(line)
        return b"" if head.take(line) else self._refuse(_BAD)

    def _end(self, head: _Head) -> bytes:
        if head.hosts != 1:
            return self._refuse(_BAD)
        self._head = None
        self._next = _Next.CHUNK if head.is_chunked else _Next.REQUEST
        self._left = head.length or 0
        return b"".join([*head.lines, _LINE_END])

    def _begin_chunk(self, line: bytes) -> bytes:
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            return self._refuse(_BAD)
        self._left = int(size[1], 16)
        self._next = _Next.CHUNK_END if self._left else _Next.LAST_CHUNK_END
        return size[1] + _LINE_END  # RFC 9112, section 7.1.1: unknown extensions are ignored; parsers differ about them

    def _refuse(self, refusal: Refusal) -> bytes:
        self.refusal = refusal
        return b""
