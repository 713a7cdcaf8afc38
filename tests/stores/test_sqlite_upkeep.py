"""Damage that whoever has the file can do, and what the store shows of it to whoever checks."""

from pathlib import Path

import apsw
import pytest

from pausemesh.core.errors import InvalidRequest, SchemaMissing, StoreCorrupt, StoreUnavailable
from pausemesh.records import Restoring
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, event, given, write
from pausemesh.testing.conformance_upkeep import seen_of
from tests.service.damaging import damage


@pytest.fixture
async def store(sqlite_store: SqliteEventStore) -> SqliteEventStore:
    await given(sqlite_store, write("a", events=(event(), event())), write("b"))
    return sqlite_store


async def test_events_without_a_head_are_listed_and_examined(store: SqliteEventStore, path: Path) -> None:
    damage(path, "DELETE FROM heads WHERE stream = 'a'")
    assert await store.list_names() == [(SCOPE, "a"), (SCOPE, "b")]
    [examined] = await store.examine([(SCOPE, "a")])
    assert (examined.head, len(examined.events), examined.unreadable) == (None, 2, 0)


async def test_a_head_without_events_is_listed_and_examined(store: SqliteEventStore, path: Path) -> None:
    damage(path, "DELETE FROM events WHERE stream = 'a'")
    assert await store.list_names() == [(SCOPE, "a"), (SCOPE, "b")]
    [examined] = await store.examine([(SCOPE, "a")])
    assert examined.head is not None
    assert examined.events == ()


@pytest.mark.parametrize(
    ("sql", "readable"),
    [
        ("UPDATE events SET at = 9223372036854775807 WHERE version = 2", (True, 1)),
        ("UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE version = 2", (True, 0)),
        ("UPDATE heads SET fence = -1 WHERE stream = 'a'", (False, 2)),
        ("UPDATE heads SET status = CAST(x'ff' AS TEXT) WHERE stream = 'a'", (False, 2)),
    ],
)
async def test_a_row_that_cannot_be_read_is_counted_and_hides_no_other(
    store: SqliteEventStore, path: Path, sql: str, readable: tuple[bool, int]
) -> None:
    damage(path, sql)
    one, other = await store.examine([(SCOPE, "a"), (SCOPE, "b")])
    assert (one.head is not None, len(one.events)) == readable
    assert one.unreadable == 1
    assert other.unreadable == 0


async def test_a_name_that_cannot_be_read_is_told_as_damage(store: SqliteEventStore, path: Path) -> None:
    damage(path, "UPDATE heads SET stream = CAST(x'61ff' AS TEXT) WHERE stream = 'a'")
    with pytest.raises(StoreCorrupt):
        await store.list_names()


async def test_a_head_that_was_lost_is_inserted(store: SqliteEventStore, path: Path) -> None:
    seen = await seen_of(store, "a")
    damage(path, "DELETE FROM heads WHERE stream = 'a'")
    assert await store.restore_heads(Restoring(seen=None, head=seen)) == [True]
    assert await seen_of(store, "a") == seen


async def test_a_head_that_cannot_be_read_is_not_written_over(store: SqliteEventStore, path: Path) -> None:
    seen = await seen_of(store, "a")
    damage(path, "UPDATE heads SET fence = -1 WHERE stream = 'a'")
    assert await store.restore_heads(Restoring(seen=seen, head=seen)) == [False]
    assert await store.restore_heads(Restoring(seen=None, head=seen)) == [False]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM events WHERE version = 1 AND stream = 'a'",
        "DELETE FROM events WHERE stream = 'b'",
        "DELETE FROM events",
        "UPDATE events SET seq = 4 WHERE stream = 'b'",
    ],
)
async def test_an_event_that_was_removed_or_renumbered_leaves_a_number_without_one(
    store: SqliteEventStore, path: Path, sql: str
) -> None:
    damage(path, sql)
    [found] = await store.check_integrity(quick=True)
    assert found.startswith("3 numbers were given to events; ")


async def test_a_write_that_was_refused_leaves_no_number_behind(store: SqliteEventStore, clock: ManualClock) -> None:
    for _ in range(3):
        await store.append(write("a", 1), write("c"))
    await given(store, write("d"))
    assert await store.check_integrity() == []


async def test_a_broken_index_is_found(store: SqliteEventStore, path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE heads SET open = 0")
    connection.pragma("writable_schema", 1)
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'WHERE open = 1', '') WHERE name = 'heads_open'")
    connection.pragma("writable_schema", "reset")
    connection.execute("CREATE TABLE x (y)")  # the others read the schema again
    connection.close()
    assert await store.check_integrity() != []


async def test_where_nothing_is_to_be_made_a_missing_file_stays_missing(tmp_path: Path, clock: ManualClock) -> None:
    with pytest.raises(StoreUnavailable):
        await SqliteEventStore.open(tmp_path / "folder" / "mesh.db", clock, create=False)
    assert [*tmp_path.iterdir()] == []


async def test_where_nothing_is_to_be_made_an_empty_file_stays_empty(path: Path, clock: ManualClock) -> None:
    path.touch()
    with pytest.raises(SchemaMissing):
        await SqliteEventStore.open(path, clock, create=False)
    assert path.read_bytes() == b""


async def test_where_nothing_is_to_be_made_a_file_that_is_there_is_opened(
    store: SqliteEventStore, path: Path, clock: ManualClock
) -> None:
    second = await SqliteEventStore.open(path, clock, create=False)
    assert await second.load(SCOPE, "a") == await store.load(SCOPE, "a")
    await second.close()


async def test_whether_to_make_a_file_is_true_or_false(path: Path, clock: ManualClock) -> None:
    with pytest.raises(InvalidRequest):
        await SqliteEventStore.open(path, clock, create=1)  # type: ignore[arg-type]
