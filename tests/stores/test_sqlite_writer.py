"""Calls share commits and nothing else: locks, neighbours, cancellations, limits of time, and several event loops."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest, OutcomeUnknown, Overloaded, StoreUnavailable
from pausemesh.ports import EventStore
from pausemesh.records import Appended, CrashPoint, Due, Reason, Refused
from pausemesh.stores.calls import Call, Inbox, send_replies
from pausemesh.stores.sqlite import SqliteEventStore
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
    write,
)
from pausemesh.testing.faults import RaiseAt


class Lock:
    """Somebody else's transaction, which holds the file's write lock."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))

    def take(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def lock(sqlite_store: SqliteEventStore, path: Path) -> Iterator[Lock]:
    assert sqlite_store is not None
    held = Lock(path)
    yield held
    held.close()


class Begun:
    """A fault hook that lets a test wait until a flush has begun; it harms nothing."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun: asyncio.Queue[None] = asyncio.Queue()
        self.commits = 0

    def __call__(self, point: CrashPoint) -> None:
        if point is CrashPoint.BEFORE_BEGIN:
            self._loop.call_soon_threadsafe(self._begun.put_nowait, None)
        self.commits += point is CrashPoint.AFTER_COMMIT_BEFORE_REPLY

    async def wait(self) -> None:
        await self._begun.get()


async def test_calls_that_wait_share_a_commit(path: Path, clock: ManualClock) -> None:
    begun = Begun()
    store = await SqliteEventStore.open(path, clock, fault=begun)
    lock = Lock(path)
    lock.take()
    tasks = [asyncio.ensure_future(store.append(write("first")))]
    await begun.wait()
    tasks += [asyncio.ensure_future(store.append(write(f"s{index}"))) for index in range(limits.WRITES_PER_FLUSH + 1)]
    await asyncio.sleep(0)
    lock.release()
    results = await asyncio.gather(*tasks)
    assert begun.commits == 3
    assert [one.stream for one in await store.feed(0)] == ["first", *[f"s{index}" for index in range(201)]]
    assert all(isinstance(result, Appended) for result in results)
    lock.close()
    await store.close()


async def test_claims_beats_and_appends_share_a_commit_in_their_order(path: Path, clock: ManualClock) -> None:
    begun = Begun()
    store = await SqliteEventStore.open(path, clock, fault=begun)
    await given_decided(store, "a")
    lock = Lock(path)
    lock.take()
    await begun.wait()
    blocked = asyncio.ensure_future(store.append(write("first")))
    await begun.wait()
    decided = head(status="resumed", open=False)
    tasks: list[asyncio.Future[object]] = [
        asyncio.ensure_future(store.take(SCOPE, "a", "ann", SECOND)),
        asyncio.ensure_future(store.beat(SCOPE, ["a"])),
        asyncio.ensure_future(
            store.append(write("a", 1, head=decided, fence=1, finish=True, silent_since=clock.now()))
        ),
        asyncio.ensure_future(store.append(write("a", 1, head=decided, fence=1, finish=True))),
        asyncio.ensure_future(store.take(SCOPE, "a", "bob", SECOND)),
    ]
    await asyncio.sleep(0)
    commits = begun.commits
    lock.release()
    taken, _, too_early, finished, late = await asyncio.gather(*tasks)
    assert begun.commits == commits + 2
    assert (getattr(taken, "fence", None), late) == (1, None)
    assert isinstance(too_early, Refused)
    assert too_early.reasons == (Reason.NOT_SILENT,)
    assert isinstance(finished, Appended)
    await blocked
    lock.close()
    await store.close()


async def test_a_deadline_that_passes_during_a_wait_for_the_lock_refuses(path: Path, clock: ManualClock) -> None:
    begun = Begun()
    store = await SqliteEventStore.open(path, clock, fault=begun)
    await given(store, write("a", head=head(due_at=clock.now() + SECOND)))
    await begun.wait()
    lock = Lock(path)
    lock.take()
    answer = asyncio.ensure_future(store.append(write("a", 1, due=Due.AHEAD)))
    await begun.wait()
    clock.advance(SECOND)
    lock.release()
    result = await answer
    assert isinstance(result, Refused)
    assert (result.reasons, result.at) == ((Reason.DUE_PASSED,), clock.now())
    lock.close()
    await store.close()


async def test_a_lock_that_is_held_too_long_is_unavailable_and_stores_nothing(path: Path, clock: ManualClock) -> None:
    store = await SqliteEventStore.open(path, clock, call_seconds=0.02)
    lock = Lock(path)
    lock.take()
    results = await asyncio.gather(*[store.append(write(f"s{index}")) for index in range(5)], return_exceptions=True)
    assert {type(result) for result in results} == {StoreUnavailable}
    lock.release()
    assert await store.feed(0) == []
    await given(store, write("s0"))
    lock.close()
    await store.close()


async def test_a_disk_that_hangs_leaves_in_doubt_what_was_begun_and_refuses_what_was_not(
    path: Path, clock: ManualClock
) -> None:
    store = await SqliteEventStore.open(path, clock)
    await store.close()
    begun, hanging = Begun(), threading.Event()

    def hang(point: CrashPoint) -> None:
        begun(point)
        if point is CrashPoint.AFTER_APPEND_BEFORE_COMMIT:
            hanging.wait()

    store = await SqliteEventStore.open(path, clock, call_seconds=0.1, fault=hang)
    in_flight = asyncio.ensure_future(store.append(write("in flight")))
    await begun.wait()
    queued = asyncio.ensure_future(store.append(write("queued")))
    results = await asyncio.gather(in_flight, queued, return_exceptions=True)
    assert [type(result) for result in results] == [OutcomeUnknown, StoreUnavailable]
    hanging.set()
    await given(store, write("later"))
    assert [one.stream for one in await store.feed(0)] == ["in flight", "later"]
    await store.close()


async def test_a_bad_call_hurts_none_of_those_it_shares_a_commit_with(
    path: Path, sqlite_store: SqliteEventStore, clock: ManualClock, lock: Lock
) -> None:
    begun = Begun()
    store = await SqliteEventStore.open(path, clock, fault=begun)
    row = audit_row()
    await given(store, write("first", rows=(row,)))
    await begun.wait()
    lock.take()
    blocked = asyncio.ensure_future(store.append(write("blocked")))
    await begun.wait()
    calls = [(write(f"s{index}", rows=(audit_row(),)),) for index in range(20)]
    calls[7] = (write("s7"), write("late", rows=(audit_row(id=row.id),)))  # type: ignore[assignment]
    tasks = [asyncio.ensure_future(store.append(*call)) for call in calls]
    await asyncio.sleep(0)
    lock.release()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [index for index, result in enumerate(results) if not isinstance(result, Appended)] == [7]
    assert isinstance(results[7], InvalidRequest)
    await blocked
    assert len(await sqlite_store.feed(0)) == 21
    assert len(await sqlite_store.list_audit(SCOPE)) == 20
    await store.close()


@pytest.mark.parametrize(
    "point", [CrashPoint.BEFORE_BEGIN, CrashPoint.BEFORE_APPEND, CrashPoint.AFTER_APPEND_BEFORE_COMMIT]
)
async def test_a_failure_before_the_commit_is_its_callers_and_stores_nothing(
    path: Path, clock: ManualClock, point: CrashPoint
) -> None:
    store = await SqliteEventStore.open(path, clock, fault=RaiseAt(point, after=1))
    await given(store, write("a"))
    with pytest.raises(RuntimeError):
        await store.append(write("b", rows=(audit_row(),)), write("a", 1))
    assert [one.stream for one in await store.feed(0)] == ["a"]
    assert await store.list_audit(SCOPE) == []
    await given(store, write("b"))
    await store.close()


async def test_a_failure_after_the_commit_leaves_its_caller_in_doubt_until_it_asks_again(
    path: Path, clock: ManualClock
) -> None:
    store = await SqliteEventStore.open(path, clock, fault=RaiseAt(CrashPoint.AFTER_COMMIT_BEFORE_REPLY))
    call = write("a")
    with pytest.raises(OutcomeUnknown):
        await store.append(call)
    assert (await given(store, call)).replayed
    await store.close()


async def test_a_caller_that_leaves_the_queue_surely_stored_nothing(path: Path, clock: ManualClock) -> None:
    begun = Begun()
    store = await SqliteEventStore.open(path, clock, fault=begun)
    lock = Lock(path)
    lock.take()
    in_flight = asyncio.ensure_future(store.append(write("in flight")))
    await begun.wait()
    queued = asyncio.ensure_future(store.append(write("queued")))
    staying = asyncio.ensure_future(store.append(write("staying")))
    await asyncio.sleep(0)
    in_flight.cancel()
    queued.cancel()
    await asyncio.gather(in_flight, queued, return_exceptions=True)
    lock.release()
    assert isinstance(await staying, Appended)
    assert [one.stream for one in await store.feed(0)] == ["in flight", "staying"]
    lock.close()
    await store.close()


async def test_one_store_serves_several_event_loops(sqlite_store: SqliteEventStore) -> None:
    counts: list[int] = []

    async def work(name: str) -> None:
        results = await asyncio.gather(*[sqlite_store.append(write(f"{name}{index}")) for index in range(50)])
        counts.append(sum(isinstance(result, Appended) for result in results))
        await loaded(sqlite_store, f"{name}0")

    threads = [threading.Thread(target=lambda name=name: asyncio.run(work(name))) for name in "ab"]
    for thread in threads:
        thread.start()
    await work("c")
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert counts == [50, 50, 50]
    assert len(await sqlite_store.feed(0)) == 150


async def test_a_loop_that_ended_before_its_reply_hurts_nobody(path: Path, clock: ManualClock) -> None:
    begun = threading.Event()
    store = await SqliteEventStore.open(path, clock, fault=lambda _: begun.set())
    begun.clear()
    lock = Lock(path)
    lock.take()

    def ask_and_go() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(store.append(write("a")))
        loop.run_until_complete(asyncio.sleep(0))
        begun.wait()
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()

    await asyncio.to_thread(ask_and_go)
    lock.release()
    await given(store, write("b"))
    assert [one.stream for one in await store.feed(0)] == ["a", "b"]
    lock.close()
    await store.close()


async def test_a_store_keeps_its_promises_with_one_reader_and_big_events(path: Path, clock: ManualClock) -> None:
    store: EventStore = await SqliteEventStore.open(path, clock, readers=1)
    big = tuple(event(bytes([index]) * limits.PAYLOAD_BYTES) for index in range(limits.EVENTS_PER_STREAM))
    names = [f"s{index}" for index in range(10)]
    await asyncio.gather(*[store.append(write(name, events=big), comparison("none", 0)) for name in names])
    found = await asyncio.gather(*[store.load(SCOPE, name) for name in names])
    assert [stream and [one.data for one in stream.events] for stream in found] == [[one.data for one in big]] * 10
    await store.close()


async def test_an_inbox_takes_so_much_and_no_more() -> None:
    inbox: Inbox[None] = Inbox(OutcomeUnknown, 10)
    calls = [Call[None, None](_nothing, seconds=1, weight=weight) for weight in (20, 1, 4, 6, 5, 5)]
    inbox.put(calls[0])
    with pytest.raises(Overloaded):
        inbox.put(calls[1])
    assert inbox.take(3) == [calls[0]]
    for call in calls[2:4]:
        inbox.put(call)
    with pytest.raises(Overloaded):
        inbox.put(calls[1])
    assert inbox.take(9) == [calls[2]]
    inbox.put(calls[1])
    assert inbox.take(9) == [calls[3], calls[1]]
    inbox.put(calls[4])
    inbox.close()
    assert (inbox.take(9), inbox.take(9)) == ([calls[4]], [])


async def test_a_reply_to_who_has_gone_is_thrown_away() -> None:
    gone, waiting = (Call[None, str](_hello, seconds=1) for _ in range(2))
    gone.future.cancel()
    send_replies([(gone, "reply"), (waiting, "reply")])
    assert await waiting.future == "reply"


def _nothing(_: None) -> None:
    return None


def _hello(_: None) -> str:
    return "hello"
