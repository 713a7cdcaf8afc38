"""How connections end on which nobody asks anything any more, and that none of them holds up a stop."""

import contextlib

import pytest

from pausemesh.server import limits
from pausemesh.server.settings import Parser
from tests.server.calls import Wish
from tests.server.harness import RunningServer
from tests.server.test_protocols import GOOD, HOST


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEEP_ALIVE_SECONDS", "READING_SECONDS", "BODY_IDLE_SECONDS"):
        monkeypatch.setattr(limits, name, 0.2)


def test_an_idle_one_is_closed_and_one_that_waits_for_an_answer_is_not(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.wire() as idle, server.wire() as waiting:
        asked = server.run(server.mesh.create(payload=1)).continuation.id
        waiting.send(b"GET /v1/continuations/%b?wait=0.7 HTTP/1.1\r\n%b\r\n" % (asked.encode(), HOST))
        assert idle.send(GOOD).reply().status == 200
        assert idle.is_closed
        assert waiting.reply().json["continuation"]["status"] == "pending"


def test_one_on_which_a_head_has_begun_is_not_idle(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    with RunningServer(parser=parser) as server, server.wire() as wire:
        assert wire.send(GOOD).reply().status == 200
        assert wire.send(GOOD[:10]).reply().outcome == (408, "REQUEST_TIMEOUT")


def test_whoever_reads_nothing_of_a_long_answer_is_let_go(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.client("editor") as editor:
        for _ in range(150):
            editor.ask("a" * 65_000)
        wish = Wish("GET", "/v1/continuations?limit=150", key=editor.key)
        with server.wire(room=4_096) as wire:
            wire.send(wish.wire())
            assert server.until(lambda: len(server.process.server_state.connections) == 2)
            assert server.until(lambda: len(server.process.server_state.connections) == 0)
        assert len(editor.get("/v1/continuations?limit=150").json["continuations"]) == 150


def test_whoever_reads_slowly_gets_all_of_it(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.client("editor") as editor:
        for _ in range(100):
            editor.ask("a" * 65_000)
        wish = Wish("GET", "/v1/continuations?limit=100", key=editor.key)
        with server.wire(room=4_096) as wire:
            wire.send(wish.wire())
            assert len(wire.reply(pause=0.06).json["continuations"]) == 100


def test_whatever_state_they_are_in_the_server_stops(parser: Parser) -> None:
    with contextlib.ExitStack() as stack, RunningServer(parser=parser) as server:
        asked = server.run(server.mesh.create(payload=1)).continuation.id
        waiting = b"GET /v1/continuations/%b?wait=25 HTTP/1.1\r\n%b\r\n" % (asked.encode(), HOST)
        starts = [b"", b"GET", GOOD[:-2], GOOD, GOOD + GOOD[:9], GOOD * 3, waiting, waiting + GOOD + GOOD[:9],
                  waiting + b"\n\n", GOOD + b"\n", b"\n", GOOD.replace(b"1.1", b"1.0"),
                  GOOD[:-2] + b"Transfer-Encoding: chunked\r\n\r\nx"]  # fmt: skip
        for start in starts:
            stack.enter_context(server.wire()).send(start)
        assert server.until_waiting(3)
        server.stop()


def test_of_what_is_pipelined_no_more_is_taken_in_than_can_be_answered_soon(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.wire() as wire:
        asked = server.run(server.mesh.create(payload=1)).continuation.id
        waiting = b"GET /v1/continuations/%b?wait=0.5 HTTP/1.1\r\n%b\r\n" % (asked.encode(), HOST)
        wire.send(waiting + GOOD * 3_000)
        assert server.until_waiting(1)
        (connection,) = server.process.server_state.connections
        assert len(getattr(connection, "pipeline", ())) < 300
        assert wire.reply().json["continuation"]["status"] == "pending"
        assert {wire.reply().body for _ in range(3_000)} == {b'{"status":"ok"}'}


def test_what_follows_a_refused_head_is_not_read(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.wire() as wire:
        asked = server.run(server.mesh.create(payload=1)).continuation.id
        wire.send(b"GET /v1/continuations/%b?wait=0.5 HTTP/1.1\r\n%b\r\n\n" % (asked.encode(), HOST))
        assert server.until_waiting(1)
        sent = wire.send_until_answered(b"a" * 65_536)
        assert wire.reply().status == 200
        assert sent < 16 * 1024 * 1024
