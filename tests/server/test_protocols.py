"""Hostile and unlucky bytes on a real connection, through both parsers: what is answered; nothing is stored."""

import pytest

from pausemesh.server import limits
from tests.server.answers import require_problem
from tests.server.harness import Client, RunningServer

HOST = b"Host: localhost\r\n"
GOOD = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"

REFUSED_HEADS = {
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "one bare line feed": b"GET /healthz HTTP/1.1\r\nHost: localhost\n\r\n",
    "a bare carriage return": b"GET /healthz HTTP/1.1\r\nHost: localhost\rX: a\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n",
    "a control character": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\x01b\r\n\r\n",
    "a null byte": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: \x00\r\n\r\n",
    "a blank before the colon": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X : a\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "no host in HTTP/1.0": b"GET /healthz HTTP/1.0\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "no host that can be": b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
    "two lengths": b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a length that is none": b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Content-Length: 2x\r\n\r\n{}",
    "two framings": (
        b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "another coding": b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /v1/claims HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/2 by prior knowledge": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
    "another version": b"GET /healthz HTTP/1.2\r\n" + HOST + b"\r\n",
    "an absolute target": b"GET http://localhost/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "an authority as target": b"CONNECT localhost:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "an asterisk as target": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a fragment": b"GET /healthz#a HTTP/1.1\r\n" + HOST + b"\r\n",
    "raw bytes in the target": b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "a blank in the target": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
}
TOO_LONG = {
    "5 KiB of path": b"GET /" + b"a" * 5_120 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "5 KiB of query": b"GET /healthz?" + b"a" * 5_120 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a target without an end": b"GET /" + b"a" * 200_000,
}
TOO_LARGE = {
    "17 KiB of headers": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 17_408 + b"\r\n\r\n",
    "200 KiB of headers": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 34_000 + b"\r\n",
    "a header without an end": b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 200_000,
}
ODD_PATHS = [
    "/",
    "/nowhere",
    "/v1",
    "/v1/",
    "/v1/continuations/",
    "/v1//continuations",
    "//healthz",
    "///healthz",
    "//localhost/healthz",
    "/healthz/",
    "/healthz;a",
    "/healthz%00",
    "/%00",
    "/%ff",
    "/%c3%28",
    "/%0d%0aX:%20a",
    "/%",
    "/%zz",
    "/%E2%80%AE",
    "/%F0%9F%98%80",
    "/../healthz",
    "/v1/../healthz",
    "/./healthz",
    "/..%2fhealthz",
    "/v1%2Fcontinuations",
    "/v1/continuations/a%2Fresume",
    "/v1/continuations/a%2fb/resume",
    "/v1\\continuations",
    '/heal^`{|}<>"z',
]  # fmt: skip


def is_well(server: RunningServer) -> bool:
    """Tell whether somebody else is served."""
    with server.wire() as wire:
        return wire.send(GOOD).reply().status == 200


@pytest.mark.parametrize("name", REFUSED_HEADS)
def test_a_head_that_readers_may_see_differently_is_400_and_ends_the_connection(
    server: RunningServer, name: str
) -> None:
    before = server.last_seq
    with server.wire() as wire:
        reply = wire.send(REFUSED_HEADS[name]).reply()
        assert reply.outcome == (400, "INVALID_REQUEST")
        require_problem(reply)
        assert reply.closes
        assert wire.is_closed
    assert server.last_seq == before
    assert is_well(server)


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_url_of_more_than_4_kib_is_414_and_ends_the_connection(server: RunningServer, name: str) -> None:
    with server.wire() as wire:
        reply = wire.send(TOO_LONG[name]).reply()
        assert reply.outcome == (414, "URI_TOO_LONG")
        require_problem(reply)
        assert wire.is_closed
    assert is_well(server)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_headers_of_more_than_16_kib_are_431_and_end_the_connection(server: RunningServer, name: str) -> None:
    with server.wire() as wire:
        reply = wire.send(TOO_LARGE[name]).reply()
        assert reply.outcome == (431, "HEADERS_TOO_LARGE")
        require_problem(reply)
        assert wire.is_closed
    assert is_well(server)


def test_a_url_and_headers_as_long_as_they_may_be_are_served(server: RunningServer) -> None:
    path = b"/healthz?" + b"a" * (limits.URL_BYTES - len(b"/healthz?"))
    filler = b"X: " + b"a" * (limits.HEADER_BYTES - len(HOST) - len(b"X: \r\n")) + b"\r\n"
    with server.wire() as wire:
        assert wire.send(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n").reply().status == 400
        assert wire.send(b"GET /" + b"a" * 4_095 + b" HTTP/1.1\r\n" + HOST + b"\r\n").reply().status == 404
        assert wire.send(b"GET /healthz HTTP/1.1\r\n" + HOST + filler + b"\r\n").reply().status == 200


@pytest.mark.parametrize("path", ODD_PATHS)
def test_an_odd_path_is_404_and_the_connection_goes_on(server: RunningServer, path: str) -> None:
    with server.wire() as wire:
        reply = wire.send(b"GET %b HTTP/1.1\r\n%b\r\n" % (path.encode(), HOST)).reply()
        assert reply.outcome == (404, "NOT_FOUND")
        require_problem(reply)
        assert wire.send(GOOD).reply().status == 200


@pytest.mark.parametrize("method", [b"BREW", b"get", b"TRACE", b"CONNECT", b"PROPFIND", b"OPTIONS", b"DELETE", b"PRI"])
def test_a_method_that_a_path_does_not_know_is_405_with_those_that_it_knows(
    server: RunningServer, method: bytes
) -> None:
    with server.wire() as wire:
        reply = wire.send(method + b" /v1/continuations HTTP/1.1\r\n" + HOST + b"\r\n").reply()
        assert reply.outcome == (405, "METHOD_NOT_ALLOWED")
        assert reply.headers["allow"] == "GET, HEAD, POST"
        require_problem(reply)
        assert wire.send(GOOD).reply().status == 200


def test_head_is_get_without_its_body(server: RunningServer) -> None:
    with server.wire() as wire:
        reply = wire.send(GOOD.replace(b"GET", b"HEAD")).reply("HEAD")
        assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "15")
        assert wire.send(GOOD).reply().body == b'{"status":"ok"}'


def test_http_1_0_is_served_once_a_connection(server: RunningServer) -> None:
    with server.wire() as wire:
        assert wire.send(GOOD.replace(b"1.1", b"1.0")).reply().status == 200
        assert wire.is_closed


def test_pipelined_requests_are_answered_in_their_order(server: RunningServer) -> None:
    with server.wire() as wire:
        wire.send(GOOD + GOOD.replace(b"healthz", b"nowhere") + GOOD)
        assert [wire.reply().status for _ in range(3)] == [200, 404, 200]


def test_a_bad_head_behind_a_good_one_ends_the_connection_after_the_good_answer(server: RunningServer) -> None:
    with server.wire() as wire:
        wire.send(GOOD + b"GET / HTTP/1.1\nHost: a\n\n" + GOOD)
        assert wire.reply().status == 200
        assert wire.rest().count(b"HTTP/1.1 200") == 0


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c", b"TLS/1.0"])
def test_a_wish_to_upgrade_is_ignored_and_what_follows_is_served(server: RunningServer, protocol: bytes) -> None:
    wish = GOOD[:-2] + b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n"
    with server.wire() as wire:
        wire.send(wish + GOOD)
        assert [wire.reply().status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize("framed", [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
def test_a_body_that_means_nothing_is_read_and_never_taken_for_a_request(server: RunningServer, framed: bytes) -> None:
    with server.wire() as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\n" + HOST + framed + GOOD)
        assert [wire.reply().status for _ in range(2)] == [200, 200]


class TestTime:
    """What does not come in time is not waited for."""

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HEAD_SECONDS", "BODY_IDLE_SECONDS", "UNWANTED_BODY_SECONDS"):
            monkeypatch.setattr(limits, name, 0.1)

    @pytest.mark.parametrize("data", [b"", b"GET", GOOD[:-1], GOOD[:-2] + b"X: a"])
    def test_half_a_head_is_408_and_ends_the_connection(self, server: RunningServer, data: bytes) -> None:
        with server.wire() as wire:
            reply = wire.send(data).reply()
            assert reply.outcome == (408, "REQUEST_TIMEOUT")
            require_problem(reply)
            assert wire.is_closed
        assert is_well(server)

    def test_a_head_that_comes_byte_by_byte_has_no_more_time_than_another(self, server: RunningServer) -> None:
        with server.wire() as wire:
            wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
            wire.send_until_answered(b"a", pause=0.01)
            assert wire.reply().outcome == (408, "REQUEST_TIMEOUT")
        assert is_well(server)

    def test_half_a_head_on_a_connection_that_was_used_is_408_too(self, server: RunningServer) -> None:
        with server.wire() as wire:
            assert wire.send(GOOD).reply().status == 200
            assert wire.send(GOOD[:20]).reply().status == 408
            assert wire.is_closed

    @pytest.mark.parametrize("framed", [b"Content-Length: 20\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{"])
    def test_a_body_that_stalls_is_408_and_ends_the_connection(
        self, server: RunningServer, editor: Client, framed: bytes
    ) -> None:
        before = server.last_seq
        with server.wire() as wire:
            reply = wire.send(head_of(editor) + framed).reply()
            assert reply.outcome == (408, "REQUEST_TIMEOUT")
            assert reply.closes
            assert wire.is_closed
        assert server.last_seq == before
        assert is_well(server)

    def test_a_body_that_goes_on_for_ever_is_408(
        self, server: RunningServer, editor: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
        monkeypatch.setattr(limits, "BODY_IDLE_SECONDS", 10.0)
        with server.wire() as wire:
            wire.send(head_of(editor) + b"Content-Length: 60000\r\n\r\n")
            wire.send_until_answered(b" ", pause=0.01)
            assert wire.reply().outcome == (408, "REQUEST_TIMEOUT")

    def test_the_body_of_a_refused_request_is_not_waited_for(self, server: RunningServer) -> None:
        with server.wire() as wire:
            reply = wire.send(b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Content-Length: 20\r\n\r\n{").reply()
            assert reply.outcome == (401, "UNAUTHENTICATED")
            assert reply.closes
            assert wire.is_closed


def test_a_small_body_of_a_refused_request_is_read_and_the_connection_goes_on(server: RunningServer) -> None:
    with server.wire() as wire:
        wire.send(b"POST /v1/claims HTTP/1.1\r\n" + HOST + b"Content-Length: 20\r\n\r\n")
        assert wire.send(b"x" * 20).reply().status == 401
        assert wire.send(GOOD).reply().status == 200


def test_whoever_asks_before_sending_a_body_is_told_to_go_on(server: RunningServer, editor: Client) -> None:
    body = b'{"payload":1}'
    with server.wire() as wire:
        wire.send(head_of(editor) + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert wire.line() == b"HTTP/1.1 100 Continue\r\n"
        while wire.line() != b"\r\n":
            pass
        assert wire.send(body).reply().status == 201


@pytest.mark.parametrize(
    ("path", "length", "outcome"),
    [
        ("/v1/claims", b"20", (401, "UNAUTHENTICATED")),
        ("/nowhere", b"20", (404, "NOT_FOUND")),
    ],
)
def test_whoever_asks_before_sending_a_body_that_is_not_wanted_is_told_at_once(
    server: RunningServer, path: str, length: bytes, outcome: tuple[int, str]
) -> None:
    head = b"POST %b HTTP/1.1\r\n%bExpect: 100-continue\r\nContent-Length: %b\r\n\r\n" % (path.encode(), HOST, length)
    with server.wire() as wire:
        reply = wire.send(head).reply()
        assert reply.outcome == outcome
        assert wire.is_closed


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"1\r\n{\n0\r\n\r\n", b"0\r\nX: a\r\n\r\n", b"-1\r\n", b"1\r\n{}\r\n"])
def test_a_chunked_body_that_readers_may_see_differently_is_400_and_nothing_is_stored(
    server: RunningServer, editor: Client, chunks: bytes
) -> None:
    before = server.last_seq
    with server.wire() as wire:
        reply = wire.send(head_of(editor) + b"Transfer-Encoding: chunked\r\n\r\n" + chunks).reply()
        assert reply.outcome == (400, "INVALID_REQUEST")
        require_problem(reply)
        assert wire.is_closed
    assert server.last_seq == before
    assert is_well(server)


def test_a_chunked_body_is_served_and_the_connection_goes_on(server: RunningServer, editor: Client) -> None:
    chunks = b'8;a=b\r\n{"payloa\r\n5\r\nd":1}\r\n0\r\n\r\n'
    with server.wire() as wire:
        wire.send(head_of(editor) + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + GOOD)
        assert [wire.reply().status for _ in range(2)] == [201, 200]


def test_a_body_that_says_it_is_too_large_is_413_before_any_of_it_is_read(
    server: RunningServer, editor: Client
) -> None:
    with server.wire() as wire:
        reply = wire.send(head_of(editor) + b"Content-Length: 65537\r\n\r\n").reply()
        assert reply.outcome == (413, "PAYLOAD_TOO_LARGE")
        assert reply.closes
        assert wire.is_closed


def test_of_a_chunked_body_no_more_than_about_the_limit_is_read(server: RunningServer, editor: Client) -> None:
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    with server.wire() as wire:
        wire.send(head_of(editor) + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = wire.send_until_answered(chunk)
        assert wire.reply().outcome == (413, "PAYLOAD_TOO_LARGE")
        assert wire.is_closed
    assert sent < 4 * 1024 * 1024
    assert is_well(server)


def test_a_client_that_goes_in_the_middle_of_its_body_leaves_nothing_behind(
    server: RunningServer, editor: Client
) -> None:
    before = server.last_seq
    for _ in range(20):
        with server.wire() as wire:
            wire.send(head_of(editor) + b'Content-Length: 40\r\n\r\n{"payload":1}')
    assert is_well(server)
    assert server.last_seq == before
    assert server.until(lambda: server.app.serving.in_flight == 0)


def head_of(client: Client) -> bytes:
    """The head of a creation, without its end."""
    return (
        b"POST /v1/continuations HTTP/1.1\r\nContent-Type: application/json\r\n"
        + HOST
        + b"Authorization: Bearer "
        + str(client.key).encode()
        + b"\r\n"
    )
