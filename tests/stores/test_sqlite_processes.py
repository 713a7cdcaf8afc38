"""Several processes on one file, and processes that die."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pausemesh.core.errors import ForkedMesh
from pausemesh.records import Appended, CrashPoint, Recorded
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, given, write

SCRIPT = Path(__file__).with_name("store_process.py")
SECONDS = 60


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start a process of its own in a role of the script."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], status: int = 0) -> list[object]:
    """Wait for a process and return what it said."""
    said, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == status, errors
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture
def racers(path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes = [start("race", path, 40) for _ in range(8)]
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


async def test_8_processes_open_a_new_file_at_once_and_race_for_its_streams(
    racers: list[subprocess.Popen[str]], path: Path, clock: ManualClock
) -> None:
    for racer in racers:
        assert racer.stdout is not None
        assert json.loads(racer.stdout.readline()) == "ready"
    store = await SqliteEventStore.open(path, clock)
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    seen: list[Recorded] = []
    async with asyncio.timeout(SECONDS):
        while len(seen) < 40:
            seen += await store.feed(seen[-1].seq if seen else 0, limit=3)
    won = [pair for racer in racers for [pairs] in [finish(racer)] for pair in _listed(pairs)]
    assert sorted(name for pair in won for name in pair) == sorted(event.id.hex for event in seen)
    assert seen == list(await store.feed(0))
    assert {event.stream for event in seen} == {f"s{index}" for index in range(40)}
    assert len(await store.list_audit(SCOPE)) == len(won) == 20
    await store.close()
    assert [file.name for file in path.parent.iterdir()] == ["mesh.db"]


@pytest.mark.parametrize(
    ("point", "after", "stored"),
    [
        (CrashPoint.MID_MIGRATION, 0, 0),
        (CrashPoint.MID_MIGRATION, 9, 0),
        (CrashPoint.BEFORE_BEGIN, 0, 0),
        (CrashPoint.BEFORE_BEGIN, 3, 3),
        (CrashPoint.BEFORE_APPEND, 3, 3),
        (CrashPoint.AFTER_APPEND_BEFORE_COMMIT, 0, 0),
        (CrashPoint.AFTER_APPEND_BEFORE_COMMIT, 3, 3),
        (CrashPoint.AFTER_COMMIT_BEFORE_REPLY, 0, 1),
        (CrashPoint.AFTER_COMMIT_BEFORE_REPLY, 3, 4),
    ],
)
async def test_a_process_that_is_killed_leaves_whole_calls_and_all_that_it_acknowledged(
    path: Path, clock: ManualClock, point: CrashPoint, after: int, stored: int
) -> None:
    acknowledged = finish(start("crash", path, point.value, after), -signal.SIGKILL)
    assert acknowledged == [True] * (stored - (point is CrashPoint.AFTER_COMMIT_BEFORE_REPLY))
    store = await SqliteEventStore.open(path, clock)
    names = [name for index in range(stored) for name in (f"a{index}", f"b{index}")]
    assert [event.stream for event in await store.feed(0)] == names
    assert len(await store.list_audit(SCOPE)) == stored
    assert isinstance(await store.append(write("later")), Appended)
    await store.close()


async def test_a_crashed_process_is_followed_by_one_that_knows_its_calls(path: Path, clock: ManualClock) -> None:
    first = await SqliteEventStore.open(path, clock)
    call = write("mine")
    await given(first, call)
    await first.close()
    finish(start("crash", path, CrashPoint.AFTER_APPEND_BEFORE_COMMIT.value, 2), -signal.SIGKILL)
    store = await SqliteEventStore.open(path, clock)
    assert (await given(store, call)).replayed
    assert len(await store.feed(0)) == 5
    await store.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no fork where there is no SIGKILL")
def test_a_forked_child_is_refused_and_its_parent_goes_on(path: Path) -> None:
    said = finish(start("fork", path))
    assert said == [[ForkedMesh.code] * 6, True, [ForkedMesh.code] * 6, True]


def _listed(pairs: object) -> list[list[str]]:
    assert isinstance(pairs, list)
    return pairs
