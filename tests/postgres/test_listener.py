"""Who listens is woken by commits of other replicas: by the server, and by looking where it cannot."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

import pytest

from pausemesh.core.errors import StoreUnavailable
from pausemesh.postgres import PostgresEventStore
from pausemesh.stores.postgres_session import Pool
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import given, write
from pausemesh.testing.postgres_address import PostgresAddress

WAIT_SECONDS = 20


@pytest.fixture
async def other(runtime_pool: Pool, migrated: str, clock: ManualClock) -> AsyncIterator[PostgresEventStore]:
    opened = PostgresEventStore(runtime_pool, migrated, clock=clock)
    yield opened
    await opened.close()


def listen(store: PostgresEventStore) -> AsyncGenerator[int, None]:
    return cast("AsyncGenerator[int, None]", store.wakeups())


def listening(server: PostgresAddress, schema: str) -> list[int]:
    """Return the process ids of the connections that listen for the schema's role."""
    rows = server.execute("SELECT usename, pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'")
    return [pid for role, pid in rows if role == f"{schema}_server"]


async def until_it_listens(server: PostgresAddress, schema: str) -> int:
    while not (pids := await asyncio.to_thread(listening, server, schema)):
        await asyncio.sleep(0.01)
    return pids[0]


async def test_the_server_wakes_whoever_listens(
    store: PostgresEventStore, other: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
        assert await anext(wakeups) == 0
        await until_it_listens(postgres_server, migrated)
        for index in range(5):
            seq = (await given(other, write(f"s{index}"))).last_seq
            assert await anext(wakeups) == seq


async def test_it_is_woken_though_the_connection_that_listened_was_lost(
    store: PostgresEventStore, other: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
        await anext(wakeups)
        for index in range(3):
            pid = await until_it_listens(postgres_server, migrated)
            postgres_server.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
            seq = (await given(other, write(f"s{index}"))).last_seq
            assert await anext(wakeups) == seq


async def test_without_listening_it_looks_by_itself(
    runtime_pool: Pool, migrated: str, clock: ManualClock, other: PostgresEventStore, postgres_server: PostgresAddress
) -> None:
    store = PostgresEventStore(runtime_pool, migrated, clock=clock, listen=False)
    async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
        await anext(wakeups)
        seq = (await given(other, write("a"))).last_seq
        assert await anext(wakeups) == seq
        assert listening(postgres_server, migrated) == []
    await store.close()


async def test_the_connection_is_given_back_when_nobody_listens_any_more(
    store: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        async with aclosing(listen(store)) as wakeups:
            await anext(wakeups)
            await until_it_listens(postgres_server, migrated)
        while await asyncio.to_thread(listening, postgres_server, migrated):
            await asyncio.sleep(0.01)
        async with aclosing(listen(store)) as wakeups:
            await anext(wakeups)
            await until_it_listens(postgres_server, migrated)


async def test_where_the_log_is_a_shorter_one_now_whoever_listens_is_sent_away(
    store: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    await given(store, write("a"))
    await given(store, write("b"))
    async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
        assert await anext(wakeups) == 2
        await until_it_listens(postgres_server, migrated)
        # What a standby that lacked the last commit would have, had it taken over.
        postgres_server.execute(
            f"SET session_replication_role = replica; DELETE FROM {migrated}.events WHERE seq = 2"  # noqa: S608
        )
        with pytest.raises(StoreUnavailable):
            await anext(wakeups)


async def test_closing_ends_whoever_listens(store: PostgresEventStore) -> None:
    async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
        await anext(wakeups)
        await store.close()
        with pytest.raises(StopAsyncIteration):
            await anext(wakeups)
