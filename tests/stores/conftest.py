"""A clock, a file, and a store in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.db"


@pytest.fixture
async def sqlite_store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteEventStore]:
    opened = await SqliteEventStore.open(path, clock)
    yield opened
    await opened.close()
