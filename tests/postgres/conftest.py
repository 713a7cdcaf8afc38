"""One server a run, and a schema a test."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.postgres import server_for_tests
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresAddress]:
    with server_for_tests() as server:
        yield server


@pytest.fixture
def schema(postgres_server: PostgresAddress) -> Iterator[str]:
    """The name of a schema that is not there yet; whatever it becomes is dropped, with roles of that prefix."""
    with schema_of_its_own(postgres_server) as name:
        yield name


@pytest.fixture
async def pool(postgres_server: PostgresAddress) -> AsyncIterator[AsyncConnectionPool[Any]]:
    """A pool of the superuser, large enough for several stores."""
    async with AsyncConnectionPool(postgres_server.url, min_size=1, max_size=20) as opened:
        yield opened


@pytest.fixture
async def migrated(pool: AsyncConnectionPool[Any], schema: str) -> str:
    """The name of a schema that is as this release makes it."""
    await migrate_postgres_event_store(pool, schema)
    return schema


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(pool: AsyncConnectionPool[Any], migrated: str, clock: ManualClock) -> AsyncIterator[PostgresEventStore]:
    opened = PostgresEventStore(pool, migrated, clock=clock)
    yield opened
    await opened.close()
