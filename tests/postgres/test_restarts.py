"""A server that was killed and is there again is used again at once, whatever lay in the pool meanwhile."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.stores.postgres_errors import ConnectionLost
from pausemesh.stores.postgres_pool import CONNECTIONS_MOST, open_pool, read_address
from pausemesh.stores.postgres_wire import PostgresWire
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


async def test_who_lets_go_of_a_lost_connection_twice_leaves_the_next_one_of_that_number_alone(
    server: PostgresServer,
) -> None:
    lost, lost_wire = await connected(server)
    number = lost.pgconn.socket
    server.execute(f"SELECT pg_terminate_backend({lost.pgconn.backend_pid})")
    with pytest.raises((ConnectionLost, psycopg.Error)):
        while True:
            lost.pgconn.send_query(b"SELECT 1")
            await lost_wire.results(soon())
    following, wire = await connected(server)
    assert following.pgconn.socket == number
    lost_wire.let_go()
    following.pgconn.send_query(b"SELECT 1")
    [result] = await wire.results(soon())
    assert result.get_value(0, 0) == b"1"
    wire.let_go()
    await following.close()
    await lost.close()


async def connected(server: PostgresServer) -> tuple[psycopg.AsyncConnection, PostgresWire]:
    connection = await psycopg.AsyncConnection.connect(server.url)
    return connection, PostgresWire(connection.pgconn)


def soon() -> float:
    return time.monotonic() + CALL_SECONDS
