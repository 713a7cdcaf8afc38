"""What may follow what in the bytes of a connection, and that it does not depend on how they arrive."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import h11
import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pausemesh.server.limits import HEADER_BYTES, URL_BYTES
from pausemesh.server.strict_head import Refusal, StrictHead

GOOD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/claims HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

BAD = Refusal(400, "INVALID_REQUEST")
LONG = Refusal(414, "URI_TOO_LONG")
LARGE = Refusal(431, "HEADERS_TOO_LARGE")

LINES = [
    b"GET /a HTTP/1.1\r\n",
    b"BREW /a?b=c HTTP/1.0\r\n",
    b"POST /v1/claims HTTP/1.1\r\n",
    b"GET /a\r\n",
    b"GET http://a/ HTTP/1.1\r\n",
    b"GET /a#b HTTP/1.1\r\n",
    b"GET /" + b"a" * URL_BYTES + b" HTTP/1.1\r\n",
    b"Host: localhost\r\n",
    b"Host: two words\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 3, 3\r\n",
    b"Content-Length: -1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Upgrade: websocket\r\n",
    b"Connection: Upgrade\r\n",
    b"Expect: 100-continue\r\n",
    b" folded\r\n",
    b"X: \x00\r\n",
    b"X: \xff\r\n",
    b"X : a\r\n",
    b"X: a\n",
    b"X: a\rb\r\n",
    b"X: " + b"a" * HEADER_BYTES + b"\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"abc",
    b"3\r\nabc\r\n",
    b"3;name=value\r\nabc\r\n",
    b"3\nabc\r\n",
    b"0x3\r\n",
    b"fffffffff\r\n",
    b"0\r\n\r\n",
    b"0\r\nTrailer: a\r\n\r\n",
    GOOD,
    CHUNKED,
    POST + b"Content-Length: 3\r\n\r\nabc",
]


class Seen(NamedTuple):
    """What came out of the bytes that went in."""

    passed: bytes
    refusal: Refusal | None


def seen(pieces: Iterable[bytes]) -> Seen:
    strict = StrictHead()
    return Seen(b"".join([strict.feed(piece) for piece in pieces]), strict.refusal)


def pieces_of(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


streams = st.lists(st.sampled_from(LINES) | st.binary(max_size=4), max_size=12).map(b"".join)
good_bodies = st.sampled_from([
    b"\r\n",
    b"Content-Length: 3\r\n\r\nabc",
    b"Content-Length: 0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc",
])  # fmt: skip
good_lines = st.sampled_from([b"GET /a?b HTTP/1.1\r\n", b"POST //x/%2F HTTP/1.1\r\n", b"brew /b HTTP/1.1\r\n"])
good_streams = st.lists(st.tuples(good_lines, good_bodies), min_size=1, max_size=4)


@given(streams, st.lists(st.integers(0, 40_000), max_size=8))
def test_it_does_not_matter_how_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    assert seen(pieces_of(data, cuts)) == seen([data])


@given(streams)
def test_it_does_not_matter_if_they_come_one_by_one(data: bytes) -> None:
    assert seen(bytes([byte]) for byte in data) == seen([data])


@given(good_streams)
def test_both_parsers_read_the_same_requests_from_what_is_passed_on(parts: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(line + b"Host: localhost\r\n" + body for line, body in parts)
    passed, refusal = seen([data])
    assert refusal is None
    requests = read_by_h11(passed)
    assert len(requests) == len(parts)
    assert read_by_httptools(passed) == requests


@given(streams)
def test_no_parser_objects_to_what_is_passed_on(data: bytes) -> None:
    passed, _ = seen([data])
    assert read_by_httptools(passed) == read_by_h11(passed)


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"GET / HTTP/1.1\nHost: a\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\n\r\n", BAD),
        (b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\x00: a\r\n\r\n", BAD),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", BAD),
        (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", BAD),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BAD),
        (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", BAD),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", BAD),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", BAD),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", BAD),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", BAD),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", BAD),
        (b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", BAD),
        (CHUNKED + b"3\nabc\r\n", BAD),
        (CHUNKED + b"3\r\nabcd\r\n", BAD),
        (CHUNKED + b"-3\r\nabc\r\n", BAD),
        (CHUNKED + b"1" * 300, BAD),
        (CHUNKED + b"0\r\nX: a\r\n\r\n", BAD),
        (b"A" * 5_000, LONG),
        (b"GET /" + b"a" * URL_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", LONG),
        (GOOD[:-2] + b"X: " + b"a" * HEADER_BYTES, LARGE),
        (GOOD[:-2] + b"X: a\r\n" * 4_000, LARGE),
    ],
)
def test_what_readers_may_see_differently_is_refused(data: bytes, refusal: Refusal) -> None:
    assert seen([data]).refusal == refusal
    assert seen([GOOD + data]) == (GOOD, refusal) or data.startswith(CHUNKED)


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        b"\r\n\r\n" + GOOD,
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nhOST:\t[::1]:80 \r\nX:\r\n\r\n",
        b"GET /" + b"a" * (URL_BYTES - 1) + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (HEADER_BYTES - len(b"Host: a\r\nX: \r\n")) + b"\r\n\r\n",
        CHUNKED + b"0\r\n\r\n",
        CHUNKED + b"3\r\nabc\r\n0\r\n\r\n" + GOOD,
        POST + b"Content-Length: 3\r\n\r\n\n\n\n" + GOOD,
    ],
)
def test_what_is_clear_passes_to_the_last_byte(data: bytes) -> None:
    strict = StrictHead()
    assert strict.feed(data) == data.lstrip(b"\r\n")
    assert strict.refusal is None
    assert not strict.is_inside


def test_nothing_of_a_head_is_passed_on_before_it_is_complete() -> None:
    strict = StrictHead()
    assert strict.feed(GOOD[:-1]) == b""
    assert strict.is_inside
    assert strict.feed(GOOD[-1:]) == GOOD


@pytest.mark.parametrize("extension", [b";x", b";x=y", b' \t; x="y"', b";x/y", b";\xe9", b";x#1;;=?"])
def test_what_a_chunk_says_beside_its_size_is_ignored(extension: bytes) -> None:
    data = CHUNKED + b"3" + extension + b"\r\nabc\r\n0" + extension + b"\r\n\r\n" + GOOD
    assert seen([data]) == (CHUNKED + b"3\r\nabc\r\n0\r\n\r\n" + GOOD, None)


@pytest.mark.parametrize("blank", [b"", b" ", b"\t", b" \t "])
def test_blanks_around_what_frames_a_body_are_not_passed_on(blank: bytes) -> None:
    for field, body in (
        (b"Content-Length:%b3%b\r\n\r\n", b"abc"),
        (b"Transfer-Encoding:%bchunked%b\r\n\r\n", b"0\r\n\r\n"),
    ):
        assert seen([POST + field % (blank, blank) + body]) == (POST + field % (b" ", b"") + body, None)


def test_a_wish_to_upgrade_is_not_passed_on() -> None:
    data = GOOD[:-2] + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    assert b"websocket" not in seen([data]).passed


def test_a_method_that_no_path_knows_is_passed_on_under_one_that_both_parsers_know() -> None:
    assert seen([GOOD.replace(b"GET", b"BREW")]).passed == GOOD.replace(b"GET", b"TRACE")


def read_by_httptools(data: bytes) -> Sequence[Any]:
    """Return method, target, headers and body of each request."""
    found: list[Any] = []

    class Parsed:
        def on_message_begin(self) -> None:
            self.target, self.headers, self.body = b"", list[tuple[bytes, bytes]](), b""

        def on_url(self, url: bytes) -> None:
            self.target += url

        def on_header(self, name: bytes, value: bytes) -> None:
            name = name.lower()
            self.headers.append((name, value.lower() if name == b"transfer-encoding" else value))

        def on_body(self, body: bytes) -> None:
            self.body += body

        def on_message_complete(self) -> None:
            found.append((parser.get_method(), self.target, self.headers, self.body))

    parser = httptools.HttpRequestParser(Parsed())
    parser.feed_data(data)
    return found


def read_by_h11(data: bytes) -> Sequence[Any]:
    """Return method, target, headers and body of each request."""
    found: list[Any] = []
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=100_000)
    if data:  # none would be the end of the connection
        connection.receive_data(data)
    request: h11.Request | None = None
    body = b""
    while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
        if isinstance(event, h11.Request):
            request, body = event, b""
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            assert request is not None
            found.append((request.method, request.target, list(request.headers), body))
            if connection.their_state is h11.MUST_CLOSE:
                break
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            connection.start_next_cycle()
    return found
