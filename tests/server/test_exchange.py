"""Whatever goes wrong inside: the client gets an answer that is true, without internals, and the server goes on."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

import pausemesh
from pausemesh.server import bodies
from pausemesh.server.settings import Parser
from tests.server.answers import Reply, require_problem
from tests.server.calls import Wish
from tests.server.harness import RunningServer
from tests.stores.test_sqlite_disk import FaultyDisk
from tests.telemetry.conftest import Lines

CANARY = "canary-e5f0c1"
ASK = {"payload": {"message": "Which flight?"}}


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    faulty = FaultyDisk()
    yield faulty
    faulty.unregister()


@pytest.fixture
def faulty(parser: Parser, disk: FaultyDisk, tmp_path: Path) -> Iterator[RunningServer]:
    """A server whose disk fails when it is told."""
    assert disk.base
    with RunningServer(parser=parser, database=tmp_path / "q.db") as running:
        yield running


NOTHING_WRITTEN = (503, "STORE_UNAVAILABLE")
IN_DOUBT = (503, "OUTCOME_UNKNOWN")


@pytest.mark.parametrize(
    ("failure", "outcomes"),
    [
        (apsw.FullError, {(507, "STORE_FULL")}),
        (apsw.IOError, {NOTHING_WRITTEN, IN_DOUBT}),
        (apsw.ReadOnlyError, {NOTHING_WRITTEN, IN_DOUBT}),
    ],
)
def test_a_disk_that_takes_nothing_is_told_as_what_it_is_and_nothing_is_half_written(
    faulty: RunningServer, disk: FaultyDisk, failure: type[apsw.Error], outcomes: set[tuple[int, str]]
) -> None:
    with faulty.client("editor") as editor:
        created, before = editor.ask(ASK["payload"]), faulty.last_seq
        path = f"/v1/continuations/{created['continuation']['continuationId']}"
        disk.failing_writes = failure
        assert editor.post("/v1/continuations", ASK, key="k").outcome in outcomes
        assert editor.resume(created, "AZ1").outcome in outcomes
        assert editor.post(f"{path}/cancel", {}).outcome in outcomes
        assert editor.get(path).json["continuation"]["status"] == "pending"
        assert editor.get("/healthz").status == 200
        disk.failing_writes = None
        assert faulty.last_seq == before
        assert editor.post("/v1/continuations", ASK, key="k").status == 201
        assert editor.resume(created, "AZ1").json["replayed"] is False


def test_a_commit_in_doubt_is_told_as_that_and_the_same_request_settles_it(
    faulty: RunningServer, disk: FaultyDisk
) -> None:
    with faulty.client("editor") as editor:
        created = editor.ask(ASK["payload"])
        disk.failing_syncs = 1_000
        assert editor.resume(created, "AZ1").outcome == IN_DOUBT
        assert editor.post("/v1/continuations", ASK, key="k").outcome in {NOTHING_WRITTEN, IN_DOUBT}
        disk.failing_syncs = 0
        settled = editor.resume(created, "AZ1")
        assert settled.json["continuation"]["resumePayload"] == "AZ1"
        assert editor.resume(created, "AZ2", key="other").outcome == (409, "TOKEN_ALREADY_USED")
        asked = editor.post("/v1/continuations", ASK, key="k")
        assert editor.post("/v1/continuations", ASK, key="k").json == {**asked.json, "resumeToken": None}


def test_a_store_that_is_gone_is_503_and_only_health_is_told(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.client("editor") as editor, server.client() as nobody:
        created = editor.ask()
        server.run(server.store.close())
        for path in ("/v1/continuations", f"/v1/continuations/{created['continuation']['continuationId']}"):
            assert editor.get(path).outcome == (503, "STORE_UNAVAILABLE")
        assert editor.resume(created, 1).outcome == (503, "STORE_UNAVAILABLE")
        assert editor.get("/healthz").json == {"status": "ok"}
        ready = nobody.get("/readyz")
        check = {"component": "event-store", "status": "unavailable"}
        assert (ready.status, ready.json) == (503, {"status": "not_ready", "checks": [check]})


def test_without_a_probe_it_is_not_ready(parser: Parser) -> None:
    with RunningServer(parser=parser, readiness_probe=None) as server, server.client() as nobody:
        assert nobody.get("/readyz").json["checks"][0]["status"] == "not_configured"


def test_events_that_contradict_each_other_are_500_without_internals(parser: Parser, tmp_path: Path) -> None:
    database = tmp_path / "q.db"
    with RunningServer(parser=parser, database=database) as server, server.client("editor") as editor:
        damaged, other = (editor.ask(CANARY)["continuation"]["continuationId"] for _ in range(2))
        with contextlib.closing(apsw.Connection(str(database))) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            sql = "UPDATE events SET data = ? WHERE stream = ?"
            connection.execute(sql, (b'{"canary-e5f0c1":', f"continuation/{damaged}"))
        refusal = editor.get(f"/v1/continuations/{damaged}")
        assert refusal.outcome == (500, "INTERNAL_ERROR")
        assert set(refusal.json) == {"type", "title", "status", "code"}
        assert CANARY not in refusal.body.decode()
        assert editor.get(f"/v1/continuations/{other}").status == 200
        assert editor.get("/readyz").status == 503


class Broken:
    """A host's own authenticator that fails."""

    def __init__(self, fail: Callable[[], None]) -> None:
        self._fail = fail

    async def authenticate(self, scope: Mapping[str, Any]) -> pausemesh.Principal | None:
        assert scope["type"] == "http"
        self._fail()
        return None


def raise_unexpectedly() -> None:
    message = f"no text with {CANARY} belongs into an answer or a log"
    raise RuntimeError(message)


def test_what_nobody_expected_is_500_without_internals_and_the_log_says_where(parser: Parser, lines: Lines) -> None:
    with RunningServer(parser=parser, authenticator=Broken(raise_unexpectedly)) as server, server.wire() as wire:
        wish = Wish("POST", "/v1/continuations", ASK, headers={"Authorization": f"Bearer {CANARY}"})
        reply = wire.send(wish.wire()).reply()
        assert reply.outcome == (500, "INTERNAL_ERROR")
        require_problem(reply)
        assert set(reply.json) <= {field for field in bodies.Problem.__struct_fields__ if field != "detail"}
        assert wire.is_closed
        with server.wire() as next_wire:
            assert next_wire.send(Wish("GET", "/healthz").wire()).reply().status == 200
    assert CANARY not in lines.text
    failed = next(record for record in lines.records if record["event"] == "failed")
    assert failed["error"] == "builtins.RuntimeError"
    assert "raise_unexpectedly" in failed["frames"][-1]
    assert failed["request_id"] == reply.headers["x-request-id"]


def test_every_request_is_one_line_of_the_log_with_its_route_and_nothing_that_was_said(
    parser: Parser, lines: Lines
) -> None:
    with RunningServer(parser=parser) as server, server.client("editor") as editor:
        created = editor.ask({"message": CANARY}, metadata={"a": CANARY})
        found: list[Reply] = [
            editor.resume(created, CANARY),
            editor.get(f"/v1/continuations/{created['continuation']['continuationId']}?wait=0.001"),
            editor.get(f"/{CANARY}"),
            editor.get(f"/v1/continuations?status={CANARY}"),
            editor.post("/v1/continuations", {CANARY: 1}),
        ]
        ids = {reply.headers["x-request-id"] for reply in found}
    requests = {record["request_id"]: record for record in lines.records if record["event"] == "request"}
    assert ids <= requests.keys()
    assert len(requests) == len(found) + 1
    assert CANARY not in lines.text
    assert created["resumeToken"] not in lines.text
    assert str(editor.key) not in lines.text
    assert {record["route"] for record in requests.values()} == {
        "/v1/continuations",
        "/v1/continuations/{id}",
        "/v1/continuations/{id}/resume",
        "unknown",
    }
