"""The process as it is started and stopped: it answers what it began, closes what it opened, and ends once."""

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

import pausemesh
from pausemesh.server.process import listen
from tests.server.calls import Wish
from tests.server.harness import SECONDS, Wire
from tests.server.served import Served, key_of

HOST = b"Host: localhost\r\n"
BODY = b'{"payload":"Which flight?"}'
JSON = b"Content-Type: application/json\r\nContent-Length: %d\r\n"
ASKING = b"POST /v1/continuations HTTP/1.1\r\n" + HOST + JSON % len(BODY) + b"Expect: 100-continue\r\n\r\n"


def begin(wire: Wire) -> None:
    """Begin a request, and see that it is under way."""
    wire.send(ASKING)
    assert wire.line() == b"HTTP/1.1 100 Continue\r\n"
    while wire.line() != b"\r\n":
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_request_in_flight_end_and_closes_the_store(tmp_path: Path, number: int) -> None:
    with Served(tmp_path) as served, served.wire() as wire:
        begin(wire)
        assert served.leftovers
        served.signal(number)
        assert served.until_refused()
        reply = wire.send(BODY).reply()
        assert reply.status == 201
        assert wire.is_closed
        assert served.wait() == 0
        assert served.leftovers == []
    with pausemesh.open_sync(tmp_path / "q.db") as mesh:
        asked = reply.json["continuation"]["continuationId"]
        assert mesh.inspect(asked).status is pausemesh.Status.PENDING


def test_however_many_signals_come_it_stops_once_and_cleanly(tmp_path: Path) -> None:
    with Served(tmp_path) as served, served.wire() as wire:
        begin(wire)
        served.signal()
        assert served.until_refused()
        ended = threading.Event()

        def insist() -> None:
            while not ended.is_set() and served.process.poll() is None:
                served.signal()
                time.sleep(0.001)

        insisting = threading.Thread(target=insist)
        insisting.start()
        try:
            assert wire.send(BODY).reply().status == 201
            assert served.wait() == 0
        finally:
            ended.set()
            insisting.join(SECONDS)
        assert served.leftovers == []
        assert served.said.count('"stopped"') == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_as_soon_as_there_is_a_store_ends_it_as_cleanly(tmp_path: Path, number: int) -> None:
    with Served(tmp_path) as served:
        assert served.until(lambda: served.leftovers != [])
        assert served.signal(number).wait() == 0
        assert served.leftovers == []
        assert "Traceback" not in served.said


def test_whoever_is_told_of_its_port_is_let_in(tmp_path: Path) -> None:
    with Served(tmp_path) as served, served.wire() as wire:
        assert wire.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n").reply().status == 200


@pytest.mark.parametrize(
    ("trusted", "client"), [("127.0.0.1", "192.0.2.7"), ("192.0.2.1", "127.0.0.1"), ("", "127.0.0.1")]
)
def test_the_log_has_the_address_that_a_trusted_proxy_tells(tmp_path: Path, trusted: str, client: str) -> None:
    words = ("--trusted-proxies", trusted) if trusted else ()
    with Served(tmp_path, *words) as served, served.wire() as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\nX-Forwarded-For: 192.0.2.7\r\n" + HOST + b"\r\n")
        assert wire.reply().status == 200
        assert served.signal().wait() == 0
        lines = [json.loads(line) for line in served.said.splitlines() if line.startswith("{")]
        assert [line["client"] for line in lines if line.get("route") == "/healthz"] == [client]


def test_who_waits_is_answered_when_it_stops(tmp_path: Path) -> None:
    with Served(tmp_path) as served, contextlib.ExitStack() as stack:
        assert served.port
        key = key_of(served.database)
        client = stack.enter_context(served.client(key))
        asking = Wish("GET", f"/v1/continuations/{client.ask()['continuation']['continuationId']}?wait=25", key=key)
        taking = Wish("POST", "/v1/claims", {"queue": "q", "worker": "w", "leaseSeconds": 60, "wait": 25}, key=key)
        wires = [stack.enter_context(served.wire()).send(wish.wire()) for wish in [asking] * 20 + [taking]]
        assert served.until(lambda: "pausemesh_waiting 21.0\n" in client.get("/metrics").body.decode())
        served.signal()
        replies = [wire.reply() for wire in wires]
        assert {reply.json["continuation"]["status"] for reply in replies[:-1]} == {"pending"}
        assert replies[-1].status == 204
        assert all(wire.is_closed for wire in wires)
        assert served.wait() == 0
        assert served.leftovers == []


def test_the_next_process_finds_what_the_last_one_acknowledged(tmp_path: Path) -> None:
    with Served(tmp_path) as served, served.client() as client:
        created = client.ask({"message": "Which flight?"})
        served.kill()
    with Served(tmp_path) as served, served.client() as client:
        outcome = client.resume(created, "AZ1")
        assert outcome.json["replayed"] is False
        served.kill()
    with Served(tmp_path, "--parser", "h11") as served, served.client() as client:
        again = client.resume(created, "AZ1")
        assert again.json["replayed"] is True
        assert again.body.replace(b"true", b"false") == outcome.body


@pytest.mark.parametrize("to", [">&-", "<&- >&-", "<&- >&- 2>&-", "> /dev/full", "> /dev/full 2>&1"])
def test_one_whose_streams_are_closed_or_full_serves_and_stops_as_cleanly(tmp_path: Path, to: str) -> None:
    launcher = ("bash", "-c", f'exec "$@" {to}', "bash", sys.executable, "-m", "pausemesh")
    with Served(tmp_path, launcher=launcher) as served, served.client() as client:
        client.ask()
        assert served.signal().wait() == 0
        assert served.leftovers == []


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    with Served(tmp_path) as served, Served(tmp_path, port=served.port) as second:
        assert second.wait() == 1
        assert f"cannot listen on 127.0.0.1 port {served.port}: Address already in use" in second.said


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
def test_an_address_is_understood_as_people_write_it(host: str) -> None:
    with contextlib.closing(listen(host, 0)) as bound:
        name, port = bound.getsockname()[:2]
        assert name in {"127.0.0.1", "::1"}
        socket.create_connection((name, port)).close()
