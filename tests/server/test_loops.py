"""What runs every few seconds goes on, whatever happens to the store meanwhile."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

import pausemesh
from pausemesh.core.limits import DUE_MAX
from pausemesh.server import limits
from pausemesh.server.settings import Parser
from tests.server.harness import RunningServer
from tests.stores.test_sqlite_disk import FaultyDisk
from tests.telemetry.conftest import Lines


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_SECONDS", 0.02)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    faulty = FaultyDisk()
    yield faulty
    faulty.unregister()


def test_an_overdue_question_expires_without_anybody_touching_it(parser: Parser) -> None:
    with RunningServer(parser=parser) as server:
        for scope in ("default", "elsewhere"):
            asking = server.mesh.in_scope(scope).create(payload=1, expires_in=timedelta(seconds=30))
            server.run(asking)
        before = server.last_seq
        server.clock.advance(timedelta(seconds=29))
        assert server.last_seq == before
        server.clock.advance(timedelta(seconds=1))
        assert server.until(lambda: server.last_seq == before + 2)


def test_more_than_one_round_can_do_is_not_left_for_later(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_SECONDS", 0.5)
    many = 2 * DUE_MAX + 1
    with RunningServer(parser=parser) as server:
        for _ in range(many):
            server.run(server.mesh.create(payload=1, expires_in=timedelta(seconds=30)))
        before = server.last_seq
        server.clock.advance(timedelta(seconds=30))
        monkeypatch.setattr(limits, "SWEEP_SECONDS", 10_000.0)  # what is left after the next round would stay
        assert server.until(lambda: server.last_seq == before + many)


def test_a_store_that_fails_for_a_while_is_swept_later(disk: FaultyDisk, tmp_path: Path, lines: Lines) -> None:
    with RunningServer(database=tmp_path / "q.db") as server:
        found = server.run(server.mesh.create(payload=1, expires_in=timedelta(seconds=30))).continuation.id
        disk.failing_writes = apsw.FullError
        server.clock.advance(timedelta(seconds=30))
        assert server.until(lambda: any(record["event"] == "sweep_failed" for record in lines.records))
        disk.failing_writes = None
        before = server.last_seq
        assert server.until(lambda: server.last_seq > before)
        assert server.run(server.mesh.inspect(found)).status is pausemesh.Status.EXPIRED
