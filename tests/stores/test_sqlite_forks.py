"""A child that was forked beside an open store opens none: SQLite believes in it that it holds its parent's locks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pausemesh.core.errors import ForkedMesh
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.stores.sqlite_forks import OpenConnections
from pausemesh.testing.clock import ManualClock

SCRIPT = Path(__file__).with_name("fork_process.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def run(*arguments: object) -> list[object]:
    """Run a process of its own in a role of the script and return what it and its children said."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


async def streams_in(path: Path, clock: ManualClock) -> list[str]:
    store = await SqliteEventStore.open(path, clock)
    found = [event.stream for event in await store.feed(0)]
    await store.close()
    return found


async def test_a_child_forked_beside_an_open_store_is_refused_and_told_what_to_do(
    path: Path, clock: ManualClock
) -> None:
    refusals, in_memory, of_grandchild, later = run("beside", path)
    assert isinstance(refusals, list)
    assert isinstance(of_grandchild, list)
    for refusal in refusals + of_grandchild:
        assert "spawn or forkserver" in refusal
    assert (in_memory, later) == (1, "stored")
    assert not path.with_name("mesh.db.other").exists()
    parent, child = await streams_in(path, clock)
    assert (parent, child[:6]) == ("parent", "child ")


async def test_a_child_forked_after_the_store_was_closed_loses_nothing(path: Path, clock: ManualClock) -> None:
    run("after", path)
    assert await streams_in(path, clock) == ["before", "child 1", "parent", "child 2"]


async def test_a_child_that_ends_leaves_alone_what_it_inherited(path: Path, clock: ManualClock) -> None:
    run("heirs", path)
    assert path.with_name("mesh.db-wal").stat().st_size > 0
    assert await streams_in(path, clock) == ["third"]


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_a_child_that_was_not_forked_beside_a_store_opens_the_file(path: Path, how: str) -> None:
    assert run("started", path, how) == [True]


def test_a_connection_that_was_closed_is_no_heritage() -> None:
    connections, connection = OpenConnections(), object()
    connections.add(connection)
    connections.discard(connection)
    connections.become_child()
    connections.add(connection)
    connections.become_child()
    connections.discard(connection)
    connections.become_child()
    with pytest.raises(ForkedMesh, match="forkserver"):
        connections.add(connection)
