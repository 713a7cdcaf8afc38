"""The SQLite store passes the contracts of shared and of durable stores."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance import DurableStoreContract, EventStoreContract, SharedStoreContract


@pytest.fixture
def store(sqlite_store: SqliteEventStore) -> SqliteEventStore:
    return sqlite_store


@pytest.fixture
async def second_store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteEventStore]:
    opened = await SqliteEventStore.open(path, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def reopen(
    store: SqliteEventStore, path: Path, clock: ManualClock
) -> AsyncIterator[Callable[[], Awaitable[SqliteEventStore]]]:
    opened: list[SqliteEventStore] = []

    async def close_and_open() -> SqliteEventStore:
        await store.close()
        opened.append(await SqliteEventStore.open(path, clock))
        return opened[-1]

    yield close_and_open
    for one in opened:
        await one.close()


class TestSqliteEventStore(EventStoreContract, SharedStoreContract, DurableStoreContract):
    pass
