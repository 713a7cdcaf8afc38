"""Connections that died, with their server or by themselves, are replaced at once, whoever held them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import cast

import pytest
import uvloop

from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.stores.postgres_pool import CONNECTIONS_MOST, open_pool, read_address
from pausemesh.testing.conformance_givens import given, write
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

CALL_SECONDS = 3.0
ROUNDS = 12
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL"


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


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_connections_that_die_while_idle_are_replaced_again_and_again(
    server: PostgresServer, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(use_and_cut(server))


async def use_and_cut(server: PostgresServer) -> None:
    echo = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with open_pool(read_address(server.url)) as pool:
        await migrate_postgres_event_store(pool)
        store = PostgresEventStore(pool, call_seconds=CALL_SECONDS)
        async with aclosing(cast("AsyncGenerator[int, None]", store.wakeups())) as wakeups:
            await anext(wakeups)
            for number in range(ROUNDS):
                async with asyncio.timeout(CALL_SECONDS):
                    appended, _ = await asyncio.gather(given(store, write(f"s{number}")), store.last_seq())
                    assert await store.last_seq() == appended.last_seq
                await asyncio.to_thread(server.execute, CUT)
                # Whoever connects now may get the number of a socket that was lost.
                _, writer = await asyncio.open_connection(*echo.sockets[0].getsockname())
                writer.close()
        await store.close()
    echo.close()
