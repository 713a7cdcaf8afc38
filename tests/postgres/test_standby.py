"""What a synchronous standby was to have, and did not say that it has, is not told as done."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import OutcomeUnknown
from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.records import Refused
from pausemesh.testing.conformance_givens import given, write
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

SCHEMA = "pausemesh"
STANDBY = "standby"
WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    with PostgresServer.start(binaries=binaries_for_tests()) as server:
        yield server


@pytest.fixture(scope="module")
def standby(primary: PostgresServer) -> Iterator[PostgresServer]:
    with primary.standby(STANDBY) as server:
        yield server


@pytest.fixture
async def store(primary: PostgresServer, standby: PostgresServer) -> AsyncIterator[PostgresEventStore]:
    assert standby.pid
    async with AsyncConnectionPool(primary.url, min_size=4, max_size=8) as pool:
        await migrate_postgres_event_store(pool, SCHEMA)
        primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'")
        primary.execute("SELECT pg_reload_conf()")
        opened = PostgresEventStore(pool, SCHEMA, call_seconds=5)
        await given(opened, write("warm"))
        yield opened
        await opened.close()
        primary.execute("ALTER SYSTEM RESET synchronous_standby_names")
        primary.execute("SELECT pg_reload_conf()")
        primary.execute(f"SET session_replication_role = replica; DROP SCHEMA {SCHEMA} CASCADE")


async def until_a_commit_waits(primary: PostgresServer) -> int:
    while not (rows := await asyncio.to_thread(primary.execute, WAITING)):
        await asyncio.sleep(0.01)
    return int(rows[0][0])


@pytest.mark.parametrize("calls", [1, 3])
async def test_a_commit_whose_wait_was_given_up_is_in_doubt_until_the_standby_has_it(
    primary: PostgresServer, standby: PostgresServer, store: PostgresEventStore, calls: int
) -> None:
    standby.pause()
    appends = [write(f"s{index}") for index in range(calls)]
    tasks = [asyncio.ensure_future(store.append(one)) for one in appends]
    primary.execute(f"SELECT pg_cancel_backend({await until_a_commit_waits(primary)})")
    first, *_ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for one in first:
        assert isinstance(one.exception(), OutcomeUnknown)
    again = asyncio.ensure_future(store.append(appends[0]))
    others = asyncio.ensure_future(store.append(write("s0")))
    await until_a_commit_waits(primary)
    assert not again.done()
    standby.resume()
    assert (await again).__class__.__name__ == "Appended"
    assert isinstance(await others, Refused)
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_connection_that_is_ended_while_its_commit_waits_is_no_refusal(
    primary: PostgresServer, standby: PostgresServer, store: PostgresEventStore
) -> None:
    standby.pause()
    task = asyncio.ensure_future(store.append(write("a")))
    primary.execute(f"SELECT pg_terminate_backend({await until_a_commit_waits(primary)})")
    await until_a_commit_waits(primary)
    assert not task.done()
    standby.resume()
    outcome = await task
    assert not isinstance(outcome, Refused)
    assert outcome.replayed
