"""What becomes of calls when the disk fails: under SQLite lies a disk that does so when it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import apsw
import pytest

from pausemesh.core.errors import OutcomeUnknown, StoreCorrupt, StoreError, StoreFull, StoreUnavailable
from pausemesh.records import Appended
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
    loaded,
    taken,
    write,
)


class FaultyDisk(apsw.VFS):
    """The disk as it is, but for the failures that are planned: how often each step of the log fails from now on."""

    def __init__(self) -> None:
        self.base = apsw.vfs_names()[0]
        self.failing_syncs = 0
        self.failing_writes: type[apsw.Error] | None = None
        self.failing_opens = False
        self.syncs_of_log = 0
        super().__init__("faulty", self.base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        if self.failing_opens:
            raise apsw.CantOpenError
        return FaultyFile(self, name, flags)


class FaultyFile(apsw.VFSFile):
    """A file on that disk."""

    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._is_log = str(path).endswith("-wal")
        super().__init__(disk.base, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log and self._disk.failing_syncs:
            self._disk.failing_syncs -= 1
            raise apsw.IOError
        self._disk.syncs_of_log += self._is_log
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log and self._disk.failing_writes is not None:
            raise self._disk.failing_writes
        super().xWrite(data, offset)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    faulty = FaultyDisk()
    yield faulty
    faulty.unregister()


@pytest.fixture
async def store(disk: FaultyDisk, path: Path, clock: ManualClock) -> AsyncIterator[SqliteEventStore]:
    assert disk.base
    opened = await SqliteEventStore.open(path, clock)
    yield opened
    await opened.close()


async def test_a_commit_that_fails_once_is_settled_by_doing_it_again(store: SqliteEventStore, disk: FaultyDisk) -> None:
    disk.failing_syncs = 1
    calls = [write(f"s{index}", rows=(audit_row(),)) for index in range(20)]
    results = await asyncio.gather(*[store.append(call) for call in calls])
    assert disk.failing_syncs == 0
    assert all(isinstance(result, Appended) for result in results)
    assert [one.version for one in await store.feed(0)] == [1] * 20
    assert len(await store.list_audit(SCOPE)) == 20


async def test_a_commit_that_stays_in_doubt_is_settled_by_its_caller(store: SqliteEventStore, disk: FaultyDisk) -> None:
    await given(store, write("a"))
    disk.failing_syncs = 100
    call = write("a", 1)
    with pytest.raises(OutcomeUnknown):
        await store.append(call)
    disk.failing_syncs = 0
    await given(store, call)
    assert (await loaded(store, "a")).events[-1].id == call.events[0].id


async def test_a_commit_that_was_never_synced_is_synced_before_anybody_is_told(
    disk: FaultyDisk, path: Path, clock: ManualClock
) -> None:
    store, call = await SqliteEventStore.open(path, clock), write("a")
    disk.failing_syncs = 100
    with pytest.raises(OutcomeUnknown):
        await store.append(call)
    await store.close()
    assert path.with_name("mesh.db-wal").stat().st_size > 0
    disk.failing_syncs = disk.syncs_of_log = 0
    store = await SqliteEventStore.open(path, clock)
    assert disk.syncs_of_log > 0
    assert (await given(store, call)).replayed
    await store.close()


async def test_a_claim_that_cannot_be_taken_twice_is_in_doubt_at_once(
    store: SqliteEventStore, disk: FaultyDisk
) -> None:
    for name in "abcde":
        await given_decided(store, name, queue="q")
    finishing, releasing = await taken(store, "c"), await taken(store, "d")
    finish = comparison("c", 1, fence=finishing.fence, finish=True)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.take(SCOPE, "a", "bob", SECOND),
        lambda: store.take_next(SCOPE, "q", "bob", SECOND),
        lambda: store.append(finish),
        lambda: store.release(releasing),
    ]
    for call in calls:
        disk.failing_syncs = 1
        with pytest.raises(OutcomeUnknown):
            await call()
        assert disk.failing_syncs == 0
    assert (await loaded(store, "e")).claim.attempts == 0


async def test_what_can_be_done_twice_is_done_again(store: SqliteEventStore, disk: FaultyDisk) -> None:
    await given_decided(store, "a")
    lease = await taken(store, "a")
    disk.failing_syncs = 1
    assert await store.renew(lease, 2 * SECOND) is not None
    disk.failing_syncs += 1
    await store.beat(SCOPE, ["a"])
    assert disk.failing_syncs == 0


@pytest.mark.parametrize(
    ("failure", "refusal"),
    [
        (apsw.FullError, StoreFull),
        (apsw.IOError, StoreUnavailable),
        (apsw.ReadOnlyError, StoreUnavailable),
        (apsw.CorruptError, StoreCorrupt),
    ],
)
async def test_a_write_that_fails_before_the_commit_surely_stored_nothing(
    store: SqliteEventStore, disk: FaultyDisk, failure: type[apsw.Error], refusal: type[StoreError]
) -> None:
    too_big_for_the_cache = tuple(event(b"x" * 1_000_000) for _ in range(10))
    await given(store, write("a"))
    disk.failing_writes = failure
    with pytest.raises(refusal):
        await store.append(write("b", rows=(audit_row(),)), write("c", events=too_big_for_the_cache))
    disk.failing_writes = None
    assert [one.stream for one in await store.feed(0)] == ["a"]
    await given(store, write("b"))


async def test_a_disk_that_is_full_at_the_commit_takes_nothing_and_later_everything(
    store: SqliteEventStore, disk: FaultyDisk
) -> None:
    disk.failing_writes = apsw.FullError
    calls = [write(f"s{index}") for index in range(20)]
    results = await asyncio.gather(*[store.append(call) for call in calls], return_exceptions=True)
    assert {type(result) for result in results} == {StoreFull}
    assert await store.feed(0) == []
    disk.failing_writes = None
    for call in calls:
        assert not (await given(store, call)).replayed


async def test_a_file_that_cannot_be_opened_again_is_unavailable_until_it_can(
    store: SqliteEventStore, disk: FaultyDisk
) -> None:
    await given(store, write("a"))
    disk.failing_syncs, disk.failing_opens = 1, True
    with pytest.raises(OutcomeUnknown):
        await store.append(write("a", 1))
    results = await asyncio.gather(*[store.append(write("b")) for _ in range(3)], return_exceptions=True)
    assert {type(result) for result in results} == {StoreUnavailable}
    with pytest.raises(StoreUnavailable):
        await store.load(SCOPE, "a")
    disk.failing_opens = False
    await given(store, write("b"))
    assert await store.load(SCOPE, "a") is not None


async def test_a_failure_while_opening_leaves_a_file_that_can_be_opened(
    disk: FaultyDisk, path: Path, clock: ManualClock
) -> None:
    for failing_syncs in (1, 2):
        disk.failing_syncs = failing_syncs
        with pytest.raises(StoreUnavailable):
            await SqliteEventStore.open(path, clock)
        disk.failing_syncs = 0
    store = await SqliteEventStore.open(path, clock)
    await given(store, write("a"))
    await store.close()


async def test_a_listener_outlives_a_disk_that_fails_for_a_while(store: SqliteEventStore, disk: FaultyDisk) -> None:
    disk.failing_opens = True
    wakeups = store.wakeups()
    with pytest.raises(StoreUnavailable):
        await anext(wakeups)
    disk.failing_opens = False
    wakeups = store.wakeups()
    assert await anext(wakeups) == 0
    result = await given(store, write("a"))
    assert await anext(wakeups) == result.last_seq
