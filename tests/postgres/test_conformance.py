"""The PostgreSQL store passes the contracts of shared and of durable stores, under the role that a server has."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from pausemesh.postgres import PostgresEventStore
from pausemesh.stores.postgres_session import Pool
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance import DurableStoreContract, EventStoreContract, SharedStoreContract

Opens = Callable[[], Awaitable[PostgresEventStore]]


class Contracts(EventStoreContract, SharedStoreContract, DurableStoreContract):
    """All of them, on stores that ``another`` opens."""

    @pytest.fixture
    def is_pooled(self) -> bool:
        """Whether a pooler may stand between the store and the server."""
        return False

    @pytest.fixture
    async def another(
        self, runtime_pool: Pool, migrated: str, clock: ManualClock, *, is_pooled: bool
    ) -> AsyncIterator[Opens]:
        async with AsyncExitStack() as stack:

            async def opened() -> PostgresEventStore:
                made = PostgresEventStore(
                    runtime_pool, migrated, clock=clock, listen=not is_pooled, prepare=not is_pooled
                )
                stack.push_async_callback(made.close)
                return made

            yield opened

    @pytest.fixture
    async def store(self, another: Opens) -> PostgresEventStore:
        return await another()

    @pytest.fixture
    async def second_store(self, another: Opens) -> PostgresEventStore:
        return await another()

    @pytest.fixture
    def reopen(self, store: PostgresEventStore, another: Opens) -> Opens:
        async def close_and_open() -> PostgresEventStore:
            await store.close()
            return await another()

        return close_and_open


class TestPostgresEventStore(Contracts):
    pass


class TestPostgresEventStoreBehindAPooler(Contracts):
    @pytest.fixture
    def is_pooled(self) -> bool:
        return True
