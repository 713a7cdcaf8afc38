"""Calls share a flush and nothing else: locks, neighbours, cancellations, limits of time and of room."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.core import limits
from pausemesh.core.errors import (
    ForkedMesh,
    InvalidRequest,
    OutcomeUnknown,
    Overloaded,
    StoreClosed,
    StoreUnavailable,
    StoreUnsafe,
)
from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Appended, CrashPoint, Due, Reason, Refused
from pausemesh.stores.postgres_session import Pool
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    audit_row,
    comparison,
    event,
    given,
    given_decided,
    head,
    loaded,
    refused,
    taken,
    write,
)
from pausemesh.testing.faults import RaiseAt
from pausemesh.testing.postgres_address import PostgresAddress

LEFT_BEHIND: dict[str, list[tuple[object, ...]]] = {
    "SHOW enable_seqscan": [("on",)],
    "SELECT name FROM pg_prepared_statements": [],
    "SELECT pg_listening_channels()": [],
}


class OrderLock:
    """Somebody else's transaction, which holds the order lock."""

    def __init__(self, url: str, schema: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._schema = schema

    def take(self) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute(f"SELECT {self._schema}.take_turn_1('10s')".encode())

    def pass_time(self, seconds: float) -> None:
        self._connection.execute("SELECT pg_sleep(%s)", [seconds])

    def has_waiter(self) -> bool:
        [(waiting,)] = self._connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ).fetchall()
        return bool(waiting)

    def release(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def lock(postgres_server: PostgresAddress, migrated: str) -> Iterator[OrderLock]:
    held = OrderLock(postgres_server.url, migrated)
    yield held
    held.close()


async def until_somebody_waits(lock: OrderLock) -> None:
    while not lock.has_waiter():
        await asyncio.sleep(0.001)


async def test_calls_that_wait_share_a_flush(
    store: PostgresEventStore, lock: OrderLock, postgres_server: PostgresAddress, migrated: str
) -> None:
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    others = [asyncio.ensure_future(store.append(write(f"s{index}"))) for index in range(150)]
    await asyncio.sleep(0)
    lock.release()
    outcomes = await asyncio.gather(first, *others)
    assert all(isinstance(one, Appended) for one in outcomes)
    assert [one.seq for one in await store.feed(0)] == list(range(1, 152))
    [(transactions,)] = postgres_server.execute(f"SELECT count(DISTINCT xmin::text) FROM {migrated}.events")  # noqa: S608
    assert transactions == 2


async def test_calls_on_one_stream_keep_their_order_and_nobody_overtakes(
    store: PostgresEventStore, lock: OrderLock
) -> None:
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    calls = [
        (write("a"),),
        (write("a", 1), write("b")),
        (write("b", 1),),
        (write("a", 2),),
        (write("c"),),
        (write("b", 2), write("c", 1)),
    ]
    tasks = [asyncio.ensure_future(store.append(*call)) for call in calls]
    await asyncio.sleep(0)
    lock.release()
    await first
    assert [isinstance(await task, Appended) for task in tasks] == [True] * 6
    assert [(await loaded(store, name)).version for name in "abc"] == [3, 3, 2]


async def test_a_call_with_a_bad_value_hurts_none_of_its_neighbours(store: PostgresEventStore, lock: OrderLock) -> None:
    row = audit_row()
    await given(store, write("before", rows=(row,)))
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    bad = [write("bad", rows=(row,)), write(secrets.token_hex(4_500))]
    good = [write(f"s{index}") for index in range(19)]
    tasks = [asyncio.ensure_future(store.append(one)) for one in (good[0], *bad, *good[1:])]
    await asyncio.sleep(0)
    lock.release()
    await first
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes] == [Appended, InvalidRequest, InvalidRequest, *[Appended] * 18]
    assert len(await store.feed(0)) == 21


async def test_a_conflict_in_one_call_fails_no_other(store: PostgresEventStore, lock: OrderLock) -> None:
    await given(store, write("there"))
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    mixed = [write("there"), write("new")]
    tasks = [asyncio.ensure_future(store.append(*call)) for call in (mixed, [write("x")], [write("there", 1)])]
    await asyncio.sleep(0)
    lock.release()
    await first
    conflict, alone, further = [await task for task in tasks]
    assert isinstance(conflict, Refused)
    assert conflict.reasons == (Reason.VERSION, Reason.SIBLING)
    assert isinstance(alone, Appended)
    assert isinstance(further, Appended)
    assert await store.load(SCOPE, "new") is None


async def test_cancelled_callers_leak_nothing(store: PostgresEventStore, lock: OrderLock) -> None:
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    tasks = [asyncio.ensure_future(store.append(write(f"s{index}"))) for index in range(50)]
    await asyncio.sleep(0)
    for task in tasks[::5]:
        task.cancel()
    first.cancel()
    lock.release()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, Appended) for one in outcomes] == [index % 5 != 0 for index in range(50)]
    stored = {one.stream for one in await store.feed(0)}
    assert stored == {"first"} | {f"s{index}" for index in range(50) if index % 5}


async def test_a_deadline_that_passes_while_waiting_for_the_lock_refuses(
    runtime_pool: Pool, migrated: str, postgres_server: PostgresAddress, lock: OrderLock
) -> None:
    store = PostgresEventStore(runtime_pool, migrated)
    [(now,)] = postgres_server.execute("SELECT date_trunc('milliseconds', clock_timestamp())")
    due = now + timedelta(milliseconds=300)
    await given(store, write("one", head=head(due_at=due)), write("two", head=head(due_at=due)), write("three"))
    for calls in ([write("one", 1, due=Due.AHEAD)], [write("two", 1, due=Due.AHEAD), write("three", 1)]):
        lock.take()
        task = asyncio.ensure_future(store.append(*calls))
        await until_somebody_waits(lock)
        await asyncio.to_thread(lock.pass_time, 0.3)
        lock.release()
        outcome = await task
        assert isinstance(outcome, Refused)
        assert outcome.reasons[0] is Reason.DUE_PASSED
    await store.close()


async def test_who_holds_the_order_lock_for_too_long_makes_the_store_unavailable_and_not_wrong(
    runtime_pool: Pool, migrated: str, clock: ManualClock, lock: OrderLock
) -> None:
    store = PostgresEventStore(runtime_pool, migrated, clock=clock, call_seconds=0.25)
    lock.take()
    with pytest.raises(StoreUnavailable):
        await store.append(write("a"))
    with pytest.raises(StoreUnavailable):
        await store.beat(SCOPE, ["a"])
    lock.release()
    assert await store.load(SCOPE, "a") is None
    assert isinstance(await store.append(write("a")), Appended)
    await store.close()


async def test_a_queue_that_is_full_turns_callers_away(store: PostgresEventStore, lock: OrderLock) -> None:
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    tasks = [asyncio.ensure_future(store.append(write(f"s{n}"))) for n in range(limits.QUEUED_WRITES)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await store.append(write("late"))
    for task in tasks:
        task.cancel()
    lock.release()
    await first
    assert isinstance(await store.append(write("later")), Appended)


async def test_a_pool_without_a_connection_to_spare_is_unavailable_until_it_has_one(
    migrated: str, runtime_url: str, clock: ManualClock
) -> None:
    async with AsyncConnectionPool(runtime_url, min_size=1, max_size=4) as pool:
        store = PostgresEventStore(pool, migrated, clock=clock, call_seconds=0.25)
        taken_away = [await pool.getconn() for _ in range(4)]
        with pytest.raises(StoreUnavailable):
            await store.append(write("a"))
        for connection in taken_away:
            await pool.putconn(connection)
        assert isinstance(await store.append(write("a")), Appended)
        await store.close()


@pytest.mark.parametrize(("options", "needed"), [({}, 4), ({"listen": False}, 3), ({"readers": 5}, 7)])
async def test_a_pool_that_is_too_small_is_refused_before_anything_is_connected_to(
    options: dict[str, Any], needed: int
) -> None:
    pool = AsyncConnectionPool("postgresql://nobody@127.0.0.1:1/nothing", min_size=0, max_size=needed - 1, open=False)
    with pytest.raises(InvalidRequest, match=f"{needed} connections"):
        PostgresEventStore(pool, **options)


async def test_the_pool_stays_open_and_gets_its_connections_back_as_they_were(
    runtime_url: str, migrated: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncConnectionPool(runtime_url, min_size=4, max_size=4) as pool:
        store = PostgresEventStore(pool, migrated, clock=clock)
        wakeups = aiter(store.wakeups())
        await anext(wakeups)
        await asyncio.gather(*[given(store, write(f"s{index}")) for index in range(9)])
        await asyncio.gather(loaded(store, "s1"), store.feed(0), store.list_due())
        await store.close()
        assert not caplog.records
        async with AsyncExitStack() as stack:
            for _ in range(4):
                connection = await stack.enter_async_context(pool.connection())
                assert not connection.autocommit
                assert await (await connection.execute("SHOW enable_seqscan")).fetchone() == ("on",)
                assert await (await connection.execute("SELECT count(*) FROM pg_prepared_statements")).fetchone() == (
                    0,
                )
                assert await (await connection.execute("SELECT pg_listening_channels()")).fetchall() == []
                row = await (await connection.execute("SELECT now()", binary=True)).fetchone()
                assert row is not None
                assert isinstance(row[0], datetime)


async def test_a_store_that_is_closed_does_nothing_more(store: PostgresEventStore) -> None:
    await given(store, write("a"))
    await store.close()
    for use in (store.append(write("b")), store.load(SCOPE, "a"), store.check_ready()):
        with pytest.raises(StoreClosed):
            await use
    with pytest.raises(StoreClosed):
        store.wakeups()
    await store.close()


async def test_another_isolation_level_is_refused_in_the_step_that_writes(migrated: str, runtime_url: str) -> None:
    options = "?options=-c%20default_transaction_isolation%3Dserializable"
    async with AsyncConnectionPool(f"{runtime_url}{options}", min_size=1, max_size=4) as pool:
        store = PostgresEventStore(pool, migrated)
        with pytest.raises(StoreUnsafe):
            await store.append(write("a"))
        assert await store.load(SCOPE, "a") is None
        await store.close()


@pytest.mark.parametrize(
    ("point", "error"),
    [
        (CrashPoint.BEFORE_BEGIN, ZeroDivisionError),
        (CrashPoint.BEFORE_APPEND, ZeroDivisionError),
        (CrashPoint.AFTER_APPEND_BEFORE_COMMIT, ZeroDivisionError),
        (CrashPoint.AFTER_COMMIT_BEFORE_REPLY, OutcomeUnknown),
    ],
)
async def test_a_failure_at_a_named_point_is_told_as_what_it_is(
    runtime_pool: Pool, migrated: str, clock: ManualClock, point: CrashPoint, error: type[Exception]
) -> None:
    store = PostgresEventStore(runtime_pool, migrated, clock=clock, fault=RaiseAt(point, ZeroDivisionError))
    call = write("a", rows=(audit_row(),))
    with pytest.raises(error):
        await store.append(call)
    assert (await given(store, call)).replayed is (error is OutcomeUnknown)
    assert len(await store.list_audit(SCOPE)) == 1
    await store.close()


async def test_claims_beats_and_appends_of_one_flush_are_one_transaction(
    store: PostgresEventStore, lock: OrderLock
) -> None:
    await given_decided(store, "a")
    await given_decided(store, "queued", queue="q")
    lease = await taken(store, "a")
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    works: list[Any] = [
        store.renew(lease, 20 * SECOND),
        store.append(write("b")),
        store.take_next(SCOPE, "q", "bob", SECOND),
        store.take_next(SCOPE, "q", "bill", SECOND),
        store.beat(SCOPE, ["a", "a", "absent"]),
        store.append(write("a", 1, head=head(open=False), fence=lease.fence)),
    ]
    tasks = [asyncio.ensure_future(work) for work in works]
    await asyncio.sleep(0)
    lock.release()
    await first
    renewed, created, next_one, nothing, beaten, changed = [await task for task in tasks]
    assert renewed is not None
    assert isinstance(created, Appended)
    assert next_one.stream == "queued"
    assert nothing is None
    assert beaten is None
    assert isinstance(changed, Appended)


async def test_a_finish_and_a_comparison_in_a_flush_with_others(store: PostgresEventStore, lock: OrderLock) -> None:
    await given_decided(store, "a")
    lease = await taken(store, "a")
    lock.take()
    first = asyncio.ensure_future(store.append(write("first")))
    await until_somebody_waits(lock)
    finish = comparison("a", 1, fence=lease.fence, finish=True, history=True)
    tasks = [asyncio.ensure_future(store.append(*call)) for call in ([finish], [comparison("x", 0)], [write("z")])]
    await asyncio.sleep(0)
    lock.release()
    await first
    finished, compared, _ = [await task for task in tasks]
    assert isinstance(finished, Appended)
    assert finished.streams[0] == await loaded(store, "a")
    assert isinstance(compared, Appended)
    assert (await refused(store, comparison("a", 1, fence=lease.fence))).reasons == (Reason.FENCE,)


async def test_it_belongs_to_the_event_loop_that_used_it_first(store: PostgresEventStore) -> None:
    await given(store, write("a"))
    with pytest.raises(InvalidRequest, match="event loop"):
        await asyncio.to_thread(asyncio.run, store.append(write("b")))


async def test_a_forked_child_cannot_use_it(store: PostgresEventStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await given(store, write("a"))
    with monkeypatch.context() as patched:
        patched.setattr("os.getpid", lambda: 1)
        with pytest.raises(ForkedMesh):
            await store.append(write("b"))


async def test_several_events_of_one_write_are_stored_in_their_order(store: PostgresEventStore) -> None:
    events = (event(b"1"), event(b"2"), event(b"3"))
    call = (write("a", events=events, history=True), write("b", events=(event(b"4"),)))
    stored = await given(store, *call)
    assert [one.data for one in await store.feed(0)] == [b"1", b"2", b"3", b"4"]
    assert stored.streams[0] == await loaded(store, "a")
    again = await given(store, *call)
    assert (again.replayed, again.last_seq, again.at) == (True, stored.last_seq, stored.at)
