"""The worker does what was approved once, in whatever company and whenever it is killed."""

import contextlib
import http.client
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import pausemesh
from tests.examples.running import EXAMPLES, SECONDS, Programs, ended, eventually, kill, lines, read_from, write_into
from tests.server.harness import RunningServer

ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.ADMIN)
LEASE = timedelta(seconds=300)
PAY = """\
import json, pathlib, sys
pathlib.Path("begun").touch()
order = json.load(sys.stdin)["payload"]["action"]["arguments"]["order"]
with open("paid.txt", "a") as paid:
    paid.write(order + "\\n")
print("paid", order)
"""


class Shop:
    """A server whose clock is moved, a worker's key, and a command that writes down what it paid."""

    def __init__(self, programs: Programs, server: RunningServer) -> None:
        self.paid = programs.folder / "paid.txt"
        self.begun = programs.folder / "begun"
        self._programs = programs
        self._server = server
        self.port = server.port
        self._key = server.key("agent")
        (programs.folder / "pay.py").write_text(PAY, encoding="utf-8")

    def work(self, *command: str, port: int | None = None) -> subprocess.Popen[str]:
        """Start the worker; it pays unless it has another command."""
        return self._programs.start(
            str(EXAMPLES / "worker.py"),
            "refunds",
            *(command or (sys.executable, "pay.py")),
            PAUSEMESH_URL=f"http://127.0.0.1:{port or self.port}",
            PAUSEMESH_API_KEY=self._key,
        )

    def decide(self, order: str, *, approved: bool = True) -> str:
        """Let a refund be asked for and answered."""
        action: Any = {"name": "refund", "arguments": {"order": order}}
        mesh = self._server.mesh
        self._server.run(mesh.create(payload={"action": action}, continuation_id=order, queue="refunds"))
        self._server.run(mesh.answer(order, by=ANA, idempotency_key=order, payload={"approved": approved}))
        return order

    def effect(self, order: str) -> pausemesh.Effect | None:
        """Return what the ledger knows."""
        found = self._server.run(self._server.mesh.effects(order))
        return found[0] if found else None

    def resolve(self, order: str, outcome: str) -> None:
        """Let somebody look."""
        self._server.run(self._server.mesh.resolve_effect(order, "run", outcome, evidence="the bank's list", by=ANA))

    def is_done(self, order: str) -> bool:
        claim = self._server.run(self._server.mesh.inspect(order)).claim
        return claim is not None and claim.status == "done"

    def let_leases_lapse(self) -> None:
        self._server.clock.advance(LEASE)


class Lossy(http.server.ThreadingHTTPServer):
    """Stands before a server, and loses its first answer to each path but that of the queue."""

    def __init__(self, port: int) -> None:
        self.behind = port
        self.lost: list[str] = []
        super().__init__(("127.0.0.1", 0), Lossy.Handler)

    class Handler(http.server.BaseHTTPRequestHandler):
        """Passes a request on."""

        server: "Lossy"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=SECONDS)
            with contextlib.closing(behind):
                behind.request("POST", self.path, body, dict(self.headers))
                answer = behind.getresponse()
                content = answer.read()
            if self.path != "/v1/claims" and self.path not in self.server.lost:
                self.server.lost.append(self.path)
                return
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *_: object) -> None:
            """Say nothing."""


@pytest.fixture
def lossy(shop: "Shop") -> Iterator[Lossy]:
    with Lossy(shop.port) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join(SECONDS)


@pytest.fixture
def shop(programs: Programs) -> Iterator[Shop]:
    with RunningServer() as server:
        yield Shop(programs, server)


def test_it_does_what_is_ready_and_exits(shop: Shop) -> None:
    shop.decide("A-1")
    shop.decide("A-2", approved=False)
    assert ended(shop.work()) == (0, "A-1 completed\nA-2 declined\n", "")
    assert ended(shop.work()) == (0, "", "")
    assert lines(shop.paid) == ["A-1"]
    effect = shop.effect("A-1")
    assert effect is not None
    assert (effect.kind, effect.result) == ("refund", "paid A-1\n")
    assert shop.is_done("A-2")


def test_two_at_once_share_the_work(shop: Shop) -> None:
    orders = [shop.decide(f"A-{number:02}") for number in range(12)]
    assert [ended(worker)[0] for worker in [shop.work(), shop.work()]] == [0, 0]
    assert sorted(lines(shop.paid)) == orders
    assert all(shop.is_done(order) for order in orders)


def test_what_surely_did_not_happen_is_tried_again_after_the_lease(shop: Shop) -> None:
    shop.decide("A-1")
    assert ended(shop.work("sh", "-c", "exit 75")) == (0, "A-1 failed\n", "")
    assert ended(shop.work()) == (0, "", "")
    shop.let_leases_lapse()
    assert ended(shop.work()) == (0, "A-1 completed\n", "")
    assert lines(shop.paid) == ["A-1"]


@pytest.mark.parametrize(("outcome", "paid"), [("done", []), ("not_done", ["A-1"])])
def test_what_nobody_knows_waits_until_somebody_looked(shop: Shop, outcome: str, paid: list[str]) -> None:
    shop.decide("A-1")
    assert ended(shop.work("sh", "-c", "exit 1")) == (1, "", "A-1: EFFECT_UNKNOWN\n")
    shop.let_leases_lapse()
    assert ended(shop.work()) == (1, "", "A-1: EFFECT_UNKNOWN\n")
    shop.let_leases_lapse()
    shop.resolve("A-1", outcome)
    assert ended(shop.work()) == (0, "A-1 completed\n", "")
    assert lines(shop.paid) == paid
    assert shop.is_done("A-1")


def test_one_that_is_killed_in_the_middle_leaves_a_doubt_and_nothing_is_paid_twice(shop: Shop) -> None:
    os.mkfifo(shop.paid)  # whoever opens it to write waits for a reader
    shop.decide("A-1")
    worker = shop.work()
    eventually(shop.begun.exists)
    kill(worker)
    assert read_from(shop.paid) == "A-1\n"  # its command went on, and paid
    shop.paid.unlink()
    shop.let_leases_lapse()
    assert ended(shop.work()) == (1, "", "A-1: EFFECT_UNKNOWN\n")
    assert lines(shop.paid) == []
    shop.let_leases_lapse()
    shop.resolve("A-1", "done")
    assert ended(shop.work()) == (0, "A-1 completed\n", "")
    assert lines(shop.paid) == []


def test_lost_answers_are_asked_for_again_and_nothing_is_in_doubt(shop: Shop, lossy: Lossy) -> None:
    shop.decide("A-1")
    assert ended(shop.work(port=lossy.server_port)) == (0, "A-1 completed\n", "")
    assert len(lossy.lost) == 3
    assert lines(shop.paid) == ["A-1"]
    assert shop.is_done("A-1")


def test_one_that_slept_through_its_lease_records_nothing(shop: Shop, programs: Programs) -> None:
    waits = programs.folder / "waits"
    os.mkfifo(waits)
    shop.decide("A-1")
    worker = shop.work("sh", "-c", "read line < waits")
    eventually(lambda: shop.effect("A-1"))
    worker.send_signal(signal.SIGSTOP)
    shop.let_leases_lapse()
    shop.resolve("A-1", "not_done")
    assert ended(shop.work())[1] == "A-1 completed\n"
    worker.send_signal(signal.SIGCONT)
    write_into(waits, "\n")
    assert ended(worker) == (1, "", "A-1: LEASE_LOST\n")
    assert lines(shop.paid) == ["A-1"]


def test_a_server_that_is_away_is_left_for_the_next_run(programs: Programs) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        words = (str(EXAMPLES / "worker.py"), "refunds", "true")
        code, out, err = ended(programs.start(*words, PAUSEMESH_URL=url, PAUSEMESH_API_KEY="pmk_x"))
    assert (code, out) == (1, "")
    assert err.startswith("not now: ")


def test_without_words_it_says_how_it_is_run(programs: Programs) -> None:
    code, _, err = ended(programs.start(str(EXAMPLES / "worker.py")))
    assert code == 1
    assert "* * * * *  python worker.py refunds ./refund.sh" in err
