"""One server a run, and a schema a test."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.postgres import PostgresEventStore, grants, migrate_postgres_event_store
from pausemesh.stores.postgres_session import Pool
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.postgres import server_for_tests
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own


class Prepared(NamedTuple):
    """A schema as this release makes it, and a role that has what a server needs, and no more."""

    schema: str
    role: str
    url: str
    server: PostgresAddress


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
async def pool(postgres_server: PostgresAddress) -> AsyncIterator[Pool]:
    """A pool of the superuser, large enough for several stores."""
    async with AsyncConnectionPool(postgres_server.url, min_size=1, max_size=20) as opened:
        yield opened


@pytest.fixture
async def migrated(pool: Pool, schema: str) -> str:
    """The name of a schema that is as this release makes it."""
    await migrate_postgres_event_store(pool, schema)
    return schema


@pytest.fixture
def runtime_url(postgres_server: PostgresAddress, migrated: str) -> str:
    """The address for a role that has what a server needs, and no more."""
    role = f"{migrated}_server"
    url = postgres_server.new_role(role)
    postgres_server.execute(grants(migrated, role))
    return url


@pytest.fixture
def prepared(postgres_server: PostgresAddress, schema: str) -> Prepared:
    """The same for tests that block."""
    asyncio.run(migrate(postgres_server.url, schema))
    role = f"{schema}_server"
    url = postgres_server.new_role(role)
    postgres_server.execute(grants(schema, role))
    return Prepared(schema, role, url, postgres_server)


async def migrate(url: str, schema: str) -> None:
    async with AsyncConnectionPool(url, min_size=1) as pool:
        await migrate_postgres_event_store(pool, schema)


@pytest.fixture
async def runtime_pool(runtime_url: str) -> AsyncIterator[Pool]:
    """A pool of that role, large enough for several stores."""
    async with AsyncConnectionPool(runtime_url, min_size=1, max_size=20, reconnect_timeout=5) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(runtime_pool: Pool, migrated: str, clock: ManualClock) -> AsyncIterator[PostgresEventStore]:
    opened = PostgresEventStore(runtime_pool, migrated, clock=clock)
    yield opened
    await opened.close()
