"""The PostgreSQL store passes the contracts of shared and of durable stores."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from pausemesh.postgres import PostgresEventStore
from pausemesh.stores.postgres_session import Pool
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance import DurableStoreContract, EventStoreContract, SharedStoreContract


@pytest.fixture
async def second_store(pool: Pool, migrated: str, clock: ManualClock) -> AsyncIterator[PostgresEventStore]:
    opened = PostgresEventStore(pool, migrated, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def reopen(
    store: PostgresEventStore, pool: Pool, migrated: str, clock: ManualClock
) -> AsyncIterator[Callable[[], Awaitable[PostgresEventStore]]]:
    opened: list[PostgresEventStore] = []

    async def close_and_open() -> PostgresEventStore:
        await store.close()
        opened.append(PostgresEventStore(pool, migrated, clock=clock))
        return opened[-1]

    yield close_and_open
    for one in opened:
        await one.close()


class TestPostgresEventStore(EventStoreContract, SharedStoreContract, DurableStoreContract):
    pass
