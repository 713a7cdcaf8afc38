"""The bytes of a connection: however they are cut, the same is passed on, and both HTTP parsers read the same in it."""

import dataclasses
from typing import Any, Final

import h11
import httptools

from pausemesh.server.strict_head import StrictHead

_MOST_CUTS: Final = 32


@dataclasses.dataclass(slots=True)
class _Seen:
    """The first request of a connection, as a parser saw it."""

    method: bytes = b""
    target: bytes = b""
    headers: list[tuple[bytes, bytes]] = dataclasses.field(default_factory=list)
    body: bytes = b""
    is_complete: bool = False


def same_whatever_cuts(data: bytes) -> None:
    """The first byte says how the others are cut."""
    step, data = (data[0] % _MOST_CUTS + 1 if data else 1), data[1:]
    whole = StrictHead()
    passed = whole.feed(data)
    cut = StrictHead()
    pieces = b"".join(cut.feed(data[at : at + step]) for at in range(0, len(data), step))
    assert pieces == passed, (step, pieces, passed)
    assert cut.refusal == whole.refusal, (step, cut.refusal, whole.refusal)
    if whole.refusal is not None:
        assert whole.feed(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n") == b""
    assert _by_httptools(passed) == _by_h11(passed), passed


class _Listener:
    """Hears the first request from httptools."""

    def __init__(self) -> None:
        self.seen = _Seen()

    def on_url(self, url: bytes) -> None:
        if not self.seen.is_complete:
            self.seen.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.seen.is_complete:
            self.seen.headers.append(_header(name, value))

    def on_body(self, body: bytes) -> None:
        if not self.seen.is_complete:
            self.seen.body += body

    def on_message_complete(self) -> None:
        self.seen.is_complete = True


def _by_httptools(data: bytes) -> _Seen:
    listener = _Listener()
    parser = httptools.HttpRequestParser(listener)
    try:
        parser.feed_data(data)
    except httptools.HttpParserError:
        if not listener.seen.is_complete:  # what comes after the first request may come after a farewell
            raise
    if listener.seen.target:
        listener.seen.method = data.partition(b" ")[0]
    return listener.seen


def _by_h11(data: bytes) -> _Seen:
    connection, seen = h11.Connection(h11.SERVER, max_incomplete_event_size=65_536), _Seen()
    connection.receive_data(data)
    while True:
        event: Any = connection.next_event()
        if isinstance(event, h11.Request):
            seen.method, seen.target = event.method, event.target
            seen.headers = [_header(name, value) for name, value in event.headers]
        elif isinstance(event, h11.Data):
            seen.body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            seen.is_complete = True
            return seen
        else:
            return seen


def _header(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return a header in the one spelling that is compared."""
    name, value = name.lower(), value.strip(b" \t")
    return name, value.lower() if name == b"transfer-encoding" else value
