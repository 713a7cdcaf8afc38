"""A connection that is lost makes nothing twice and nothing undone: the same flush is sent again, or it is in doubt."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

import pytest

from pausemesh.core.errors import OutcomeUnknown, StoreUnavailable
from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Appended, Lease, Refused
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    audit_row,
    given,
    given_decided,
    loaded,
    taken,
    write,
)
from pausemesh.testing.postgres_address import PostgresAddress
from proofs.postgres.proxy import Fate
from tests.postgres.fates import Fates, store_behind

KILLS = 40
CUTS = [Fate.CUT_BEFORE, Fate.CUT_MEANWHILE, Fate.CUT_AFTER]


@pytest.fixture
def fates() -> Fates:
    return Fates()


@pytest.fixture
async def cut_store(
    runtime_url: str, migrated: str, clock: ManualClock, fates: Fates
) -> AsyncIterator[PostgresEventStore]:
    async with store_behind(runtime_url, migrated, clock, fates, call_seconds=5) as store:
        yield store


@pytest.mark.parametrize("fate", CUTS)
async def test_an_append_whose_connection_is_cut_is_stored_once(
    cut_store: PostgresEventStore, fates: Fates, fate: Fate
) -> None:
    fates.next.append(fate)
    call = write("a", history=True)
    outcome = await given(cut_store, call)
    assert outcome.streams == (await loaded(cut_store, "a"),)
    assert [one.id for one in await cut_store.feed(0)] == [call.events[0].id]
    assert outcome.replayed is (fate is Fate.CUT_AFTER) or fate is Fate.CUT_MEANWHILE


@pytest.mark.parametrize("fate", CUTS)
async def test_several_calls_whose_connection_is_cut_are_each_stored_once_or_refused(
    cut_store: PostgresEventStore, fates: Fates, fate: Fate
) -> None:
    await given(cut_store, write("there"))
    fates.next += [Fate.PASS, fate, fate]
    calls = [(write(f"s{index}", rows=(audit_row(),)), write(f"t{index}")) for index in range(20)]
    first = asyncio.ensure_future(cut_store.append(write("first")))
    outcomes = await asyncio.gather(*[cut_store.append(*call) for call in calls], cut_store.append(write("there")))
    assert isinstance(await first, Appended)
    *stored, refused = outcomes
    assert all(isinstance(one, Appended) for one in stored)
    assert isinstance(refused, Refused)
    assert len(await cut_store.feed(0)) == 42
    assert len(await cut_store.list_audit(SCOPE)) == 20


@pytest.mark.parametrize("fate", CUTS)
async def test_a_refusal_whose_connection_is_cut_is_told_all_the_same(
    cut_store: PostgresEventStore, fates: Fates, fate: Fate
) -> None:
    await given(cut_store, write("a"))
    fates.next.append(fate)
    assert isinstance(await cut_store.append(write("a")), Refused)


@pytest.mark.parametrize("fate", [Fate.CUT_MEANWHILE, Fate.CUT_AFTER])
async def test_a_finish_without_an_event_whose_connection_is_cut_is_in_doubt(
    cut_store: PostgresEventStore, fates: Fates, fate: Fate
) -> None:
    await given_decided(cut_store, "a")
    lease = await taken(cut_store, "a")
    fates.next.append(fate)
    finish = write("a", 1, head=None, events=(), fence=lease.fence, finish=True)
    with pytest.raises(OutcomeUnknown):
        await cut_store.append(finish)


async def test_a_flush_that_is_never_answered_is_sent_again_when_its_time_is_over(
    runtime_url: str, migrated: str, clock: ManualClock, fates: Fates
) -> None:
    async with store_behind(runtime_url, migrated, clock, fates, call_seconds=0.4) as store:
        fates.next.append(Fate.HOLD)
        outcome = await given(store, write("a"))
        assert outcome.replayed
        assert len(await store.feed(0)) == 1


async def test_where_no_try_is_answered_the_outcome_is_unknown_and_a_repeat_settles_it(
    runtime_url: str, migrated: str, clock: ManualClock, fates: Fates
) -> None:
    async with store_behind(runtime_url, migrated, clock, fates, call_seconds=0.4) as store:
        fates.next += [Fate.HOLD] * 20
        call = write("a")
        with pytest.raises(OutcomeUnknown):
            await store.append(call)
        fates.next.clear()
        assert (await given(store, call)).replayed


async def test_a_reader_whose_connection_was_closed_while_it_lay_idle_reads_again(
    store: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    await given(store, write("a"))
    before = await loaded(store, "a")
    for _ in range(3):
        terminate_all(postgres_server, migrated)
        assert await loaded(store, "a") == before
    terminate_all(postgres_server, migrated)
    assert isinstance(await store.append(write("a", 1)), Appended)


async def test_claims_go_on_after_connections_were_closed(
    store: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    await given_decided(store, "a")
    lease = await taken(store, "a")
    terminate_all(postgres_server, migrated)
    assert isinstance(await store.renew(lease, 2 * SECOND), Lease)


async def test_nothing_acknowledged_is_missing_while_connections_are_killed(
    store: PostgresEventStore, postgres_server: PostgresAddress, migrated: str
) -> None:
    acknowledged: set[str] = set()
    kills = 0

    async def work(worker: int) -> None:
        for index in itertools.count():
            stream = f"s{worker}-{index}"
            with contextlib.suppress(StoreUnavailable, OutcomeUnknown):
                await given(store, write(stream, rows=(audit_row(noun_id=stream),)))
                acknowledged.add(stream)
            if kills >= KILLS:
                return

    async def kill() -> None:
        nonlocal kills
        while kills < KILLS:
            await asyncio.to_thread(terminate_all, postgres_server, migrated)
            kills += 1

    await asyncio.gather(kill(), *[work(worker) for worker in range(10)])
    stored = [one.stream for one in await store.feed(0, limit=1_000_000)]
    audited = [row.row.noun_id for row in await store.list_audit(SCOPE, limit=1_000_000)]
    assert acknowledged <= set(stored)
    assert sorted(audited) == sorted(stored)


def terminate_all(server: PostgresAddress, schema: str) -> None:
    """Have the server close all connections of the schema's role."""
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{schema}_server'")  # noqa: S608
