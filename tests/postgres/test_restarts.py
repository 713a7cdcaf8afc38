"""A server that was killed and is there again is used again at once, whatever lay in the pool meanwhile."""

from collections.abc import Iterator

import pytest

from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.stores.postgres_pool import CONNECTIONS_MOST, open_pool, read_address
from pausemesh.testing.conformance_givens import given, write
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

CALL_SECONDS = 3.0


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of one's own, as it is killed."""
    with PostgresServer.start(binaries=binaries_for_tests()) as started:
        yield started


async def test_connections_that_died_in_the_pool_do_not_keep_a_call_waiting(server: PostgresServer) -> None:
    async with open_pool(read_address(server.url)) as pool:
        await migrate_postgres_event_store(pool)
        connections = [await pool.getconn() for _ in range(CONNECTIONS_MOST)]
        for connection in connections:
            await pool.putconn(connection)
        server.kill()
        server.start_again()
        store = PostgresEventStore(pool, call_seconds=CALL_SECONDS)
        await given(store, write("a"))
        await store.close()
