"""A file that is removed or replaced under an open store takes no acknowledged write into nowhere."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pausemesh.core.errors import OutcomeUnknown, SchemaMissing, StoreCorrupt, StoreUnavailable
from pausemesh.records import CrashPoint, Refused
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, SECOND, audit_row, given, given_decided, loaded, write


class Mischief:
    """A fault hook that does something to the file at a point, once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.point: CrashPoint | None = None

    def __call__(self, point: CrashPoint) -> None:
        if point is self.point:
            self.point = None
            self._path.unlink()


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteEventStore]:
    opened = await SqliteEventStore.open(path, clock)
    await given(opened, write("a"))
    yield opened
    await opened.close()


def parts_of(path: Path) -> list[Path]:
    return [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]


async def refuse_all(store: SqliteEventStore) -> None:
    """Use a store that surely has lost its file."""
    calls = [
        store.append(write("b")),
        store.append(write("a", 1)),
        store.load(SCOPE, "a"),
        store.list_due(),
        store.last_seq(),
        store.beat(SCOPE, ["a"]),
        store.take(SCOPE, "a", "ann", SECOND),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable) as raised:
            await call
        assert raised.type is StoreUnavailable


async def test_a_removed_file_takes_nothing_and_is_not_made_again(store: SqliteEventStore, path: Path) -> None:
    assert await store.load(SCOPE, "a") is not None
    for part in parts_of(path):
        part.unlink()
    results = await asyncio.gather(*[store.append(write(f"s{i}")) for i in range(5)], return_exceptions=True)
    assert {type(result) for result in results} == {StoreUnavailable}
    await refuse_all(store)
    assert list(path.parent.iterdir()) == []


async def test_a_file_that_was_moved_away_and_back_is_used_again(store: SqliteEventStore, path: Path) -> None:
    call = write("b", rows=(audit_row(),))
    path.rename(path.with_name("away"))
    with pytest.raises(StoreUnavailable):
        await store.append(call)
    await refuse_all(store)
    assert not path.exists()
    path.with_name("away").rename(path)
    assert not (await given(store, call)).replayed
    assert [event.stream for event in await store.feed(0)] == ["a", "b"]


async def test_a_restored_backup_is_used_once_the_log_of_the_file_before_is_gone(
    store: SqliteEventStore, path: Path, clock: ManualClock
) -> None:
    backup = await SqliteEventStore.open(path.with_name("backup"), clock)
    await given(backup, write("old"))
    await backup.close()
    await store.load(SCOPE, "a")
    wakeups = store.wakeups()
    assert await anext(wakeups) == 1
    for name in "bcd":
        await given(store, write(name))
    path.with_name("backup").rename(path)
    await refuse_all(store)
    for log in parts_of(path)[1:]:
        log.unlink()
    assert await store.load(SCOPE, "d") is None
    await given(store, write("a"))
    assert [event.stream for event in await store.feed(0)] == ["old", "a"]
    with pytest.raises(StoreUnavailable):
        async with asyncio.timeout(10):
            await _exhausted(wakeups)
    wakeups = store.wakeups()
    assert await anext(wakeups) == 2
    await given(store, write("b"))
    assert await anext(wakeups) == 3


async def _exhausted(wakeups: AsyncIterator[int]) -> None:
    async for _ in wakeups:
        pass


@pytest.mark.parametrize("content", [b"", b"hello" * 1_000])
async def test_what_is_no_store_in_the_place_of_the_file_is_left_as_it_is(
    store: SqliteEventStore, path: Path, content: bytes
) -> None:
    await store.load(SCOPE, "a")
    for part in parts_of(path):
        part.unlink()
    path.write_bytes(content)
    for _ in range(3):
        for call in (store.append(write("b")), store.load(SCOPE, "a")):
            with pytest.raises((StoreUnavailable, SchemaMissing, StoreCorrupt)):
                await call
    assert path.read_bytes() == content


async def test_a_file_that_goes_between_commit_and_reply_leaves_its_caller_in_doubt(
    path: Path, clock: ManualClock
) -> None:
    mischief = Mischief(path)
    store = await SqliteEventStore.open(path, clock, fault=mischief)
    os.link(path, path.with_name("kept"))
    mischief.point = CrashPoint.AFTER_APPEND_BEFORE_COMMIT
    with pytest.raises(StoreUnavailable):
        await store.append(write("a"))
    os.link(path.with_name("kept"), path)
    assert await store.load(SCOPE, "a") is None
    await given(store, write("b"))
    await store.close()


async def test_a_file_that_goes_after_the_commit_is_noticed_before_the_reply(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteEventStore.open(path, clock)
    os.link(path, path.with_name("kept"))
    connection = store._writer._connection  # noqa: SLF001 - the look between commit and reply has no other handle
    assert connection is not None
    look, looks = connection._file.look, iter((False, True))  # noqa: SLF001 - see above

    def vanish_at_the_second_look() -> object:
        if next(looks, False):
            path.unlink()
        return look()

    monkeypatch.setattr(connection._file, "look", vanish_at_the_second_look)  # noqa: SLF001 - see above
    call = write("a")
    with pytest.raises(OutcomeUnknown):
        await store.append(call)
    with pytest.raises(StoreUnavailable):
        await store.append(call)
    os.link(path.with_name("kept"), path)
    assert (await given(store, call)).replayed
    await store.close()


async def test_two_stores_of_one_path_cannot_both_acknowledge_the_same_id(
    store: SqliteEventStore, path: Path, clock: ManualClock
) -> None:
    for part in parts_of(path):
        part.unlink()
    other = await SqliteEventStore.open(path, clock)
    await given(other, write("question"))
    assert isinstance(await store.append(write("question")), Refused)
    assert (await loaded(store, "question")).version == 1
    await other.close()


async def test_a_log_that_was_removed_alone_loses_nothing_that_was_acknowledged(path: Path, clock: ManualClock) -> None:
    store = await SqliteEventStore.open(path, clock)
    other = await SqliteEventStore.open(path, clock)
    await given_decided(store, "a")
    await other.load(SCOPE, "a")
    parts_of(path)[1].unlink()
    await refuse_all(store)
    with pytest.raises(StoreUnavailable, match="log was removed"):
        await SqliteEventStore.open(path, clock)
    with pytest.raises(StoreUnavailable):
        await other.append(write("b"))
    await store.close()
    await other.close()
    again = await SqliteEventStore.open(path, clock)
    assert [event.stream for event in await again.feed(0)] == ["a"]
    await given(again, write("b"))
    await again.close()


async def test_a_copy_in_another_place_is_another_file(store: SqliteEventStore, path: Path) -> None:
    for part in parts_of(path):
        shutil.copy(part, f"{part}.copy")
        Path(f"{part}.copy").replace(part)
    await refuse_all_or_settle(store)
    assert (await loaded(store, "a")).version == 1
    await given(store, write("b"))


async def refuse_all_or_settle(store: SqliteEventStore) -> None:
    """Meet a replaced file with each of a store's connections once."""
    for _ in range(3):
        for call in (store.append(write("a", 5)), store.load(SCOPE, "a")):
            await asyncio.gather(call, return_exceptions=True)
