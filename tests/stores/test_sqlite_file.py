"""What a file must be to be opened, and what nobody can do to it."""

import os
import stat
import threading
from pathlib import Path

import apsw
import pytest

from pausemesh.core.errors import (
    SchemaChanged,
    SchemaIncomplete,
    SchemaMissing,
    SchemaNewer,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
    StoreUnsafe,
    StreamTooLong,
)
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.stores.sqlite_connection import APPLICATION_ID, SqliteConnection, check_library
from pausemesh.stores.sqlite_file import SqliteFile
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, audit_row, event, given, head, loaded, write

TOOTHLESS = "CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events BEGIN SELECT 1; END"


def files_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def run(path: Path, sql: str) -> object:
    """Run SQL in a file as somebody would who has a shell."""
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


async def make(path: Path, clock: ManualClock) -> None:
    """Make a file with one stream of two events."""
    store = await SqliteEventStore.open(path, clock)
    await given(store, write("a", events=(event(), event()), rows=(audit_row(),)))
    await store.close()


async def refusal_of(path: Path, clock: ManualClock) -> type[StoreError]:
    """Open a file that surely is refused."""
    with pytest.raises(StoreError) as raised:
        await SqliteEventStore.open(path, clock)
    assert str(path) not in str(raised.value)
    return raised.type


async def test_a_new_file_is_made_with_its_folders(tmp_path: Path, clock: ManualClock) -> None:
    await make(tmp_path / "one" / "two" / "mesh.db", clock)
    assert files_in(tmp_path / "one" / "two") == ["mesh.db"]


@pytest.mark.skipif(os.name != "posix", reason="its modes are of POSIX")
async def test_a_new_file_and_its_log_are_for_their_owner_alone(path: Path, clock: ManualClock) -> None:
    before = os.umask(0)
    try:
        store = await SqliteEventStore.open(path, clock)
        await given(store, write("a"))
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    await store.close()
    assert modes == dict.fromkeys(["mesh.db", "mesh.db-wal", "mesh.db-shm"], 0o600)


@pytest.mark.skipif(os.name != "posix", reason="its modes are of POSIX")
async def test_the_mode_of_a_file_that_was_there_stays(path: Path, clock: ManualClock) -> None:
    path.touch()
    path.chmod(0o640)
    await make(path, clock)
    await (await SqliteEventStore.open(path, clock)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("has_mknod", [True, False])
def test_making_a_file_changes_nothing_of_one_that_others_made_first(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, has_mknod: bool
) -> None:
    if not has_mknod:
        monkeypatch.delattr(os, "mknod", raising=False)
    SqliteFile(str(path)).make()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode) & 0o077) == (b"", 0)
    path.write_bytes(b"theirs")
    SqliteFile(str(path)).make()
    assert path.read_bytes() == b"theirs"
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        SqliteFile(str(path / "below")).make()


async def test_an_empty_file_becomes_a_store(path: Path, clock: ManualClock) -> None:
    path.touch()
    await make(path, clock)


async def test_a_relative_path_is_of_the_folder_it_was_opened_in(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = await SqliteEventStore.open("mesh.db", clock)
    monkeypatch.chdir("/")
    await given(store, write("a"))
    assert (await loaded(store, "a")).version == 1
    await store.close()
    assert files_in(tmp_path) == ["mesh.db"]


async def test_closing_leaves_one_file_and_no_thread(path: Path, clock: ManualClock) -> None:
    before = set(threading.enumerate())
    store = await SqliteEventStore.open(path, clock)
    await given(store, write("a"))
    await store.list_due()
    wakeups = store.wakeups()
    assert await anext(wakeups) == 1
    assert {thread.name for thread in set(threading.enumerate()) - before} == {
        "pausemesh-sqlite-writer",
        "pausemesh-sqlite-reader",
        "pausemesh-sqlite-poller",
    }
    await store.close()
    assert set(threading.enumerate()) == before
    assert files_in(path.parent) == ["mesh.db"]
    with pytest.raises(StopAsyncIteration):
        await anext(wakeups)


async def test_what_is_durable_is_written_ahead_and_synced_in_full(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    connection = SqliteConnection(SqliteFile(str(path)), seconds=1)
    pragmas = [f"PRAGMA {name}" for name in ("journal_mode", "synchronous", "recursive_triggers", "fullfsync")]
    assert [connection.cursor.execute(pragma).get for pragma in pragmas] == ["wal", 2, 1, 1]
    connection.close()


def test_a_library_that_can_lose_commits_is_refused() -> None:
    for unsafe in ("3.51.2", "3.7.0", "3.40.1"):
        with pytest.raises(StoreUnsafe):
            check_library(unsafe)
    for safe in ("3.51.3", "3.54.1", "4.0"):
        check_library(safe)


@pytest.mark.parametrize("target", [":memory:", "", "file:mesh.db?mode=memory"])
async def test_what_is_no_path_of_a_file_is_refused(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnsafe, match="MemoryEventStore"):
        await SqliteEventStore.open(target, clock)
    assert files_in(tmp_path) == []


async def test_a_folder_or_a_path_through_a_file_cannot_be_opened(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "file").write_text("hello")
    for bad in (tmp_path, tmp_path / "file" / "mesh.db", tmp_path / "nul\0"):
        before = set(threading.enumerate())
        assert await refusal_of(bad, clock) is StoreUnavailable
        assert set(threading.enumerate()) == before


async def test_a_file_that_is_no_database_is_refused_as_it_is(path: Path, clock: ManualClock) -> None:
    path.write_bytes(b"hello" * 1_000)
    assert await refusal_of(path, clock) is StoreCorrupt
    assert path.read_bytes() == b"hello" * 1_000


async def test_a_new_file_that_somebody_keeps_locked_is_unavailable(path: Path, clock: ManualClock) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN EXCLUSIVE; CREATE TABLE theirs (a)")
    with pytest.raises(StoreUnavailable):
        await SqliteEventStore.open(path, clock, call_seconds=0.02)
    other.execute("ROLLBACK")
    other.close()
    await make(path, clock)


async def test_a_damaged_file_is_refused(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    content = bytearray(path.read_bytes())
    content[100:4_000] = os.urandom(3_900)
    path.write_bytes(content)
    assert await refusal_of(path, clock) is StoreCorrupt


async def test_a_database_of_somebody_else_is_refused_as_it_is(path: Path, clock: ManualClock) -> None:
    run(path, "PRAGMA journal_mode = DELETE; CREATE TABLE heads (a)")
    before = path.read_bytes()
    assert await refusal_of(path, clock) is SchemaMissing
    assert path.read_bytes() == before
    assert files_in(path.parent) == ["mesh.db"]


async def test_a_file_that_is_marked_as_ours_and_has_no_ledger_is_refused(path: Path, clock: ManualClock) -> None:
    run(path, f"PRAGMA application_id = {APPLICATION_ID}")
    assert await refusal_of(path, clock) is SchemaMissing
    run(path, "CREATE TABLE heads (a)")
    assert await refusal_of(path, clock) is SchemaMissing


@pytest.mark.parametrize(
    ("tampering", "refusal"),
    [
        ("INSERT INTO migrations VALUES (999, 'newer', 'x', 0)", SchemaNewer),
        ("DROP TRIGGER migrations_refuse_update; UPDATE migrations SET checksum = 'x'", SchemaChanged),
        ("DROP TRIGGER events_refuse_delete", SchemaIncomplete),
        ("DROP TRIGGER heads_refuse_delete", SchemaIncomplete),
        ("DROP INDEX heads_due", SchemaIncomplete),
        ("DROP TABLE beats", SchemaIncomplete),
        ("ALTER TABLE heads ADD COLUMN more TEXT", SchemaIncomplete),
        (f"DROP TRIGGER events_refuse_update; {TOOTHLESS}", SchemaIncomplete),
        ("CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END", SchemaIncomplete),
        ("DROP TABLE migrations", SchemaMissing),
        ("DROP TRIGGER migrations_refuse_delete; DELETE FROM migrations", SchemaMissing),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
async def test_a_schema_that_was_tampered_with_is_refused(
    path: Path, clock: ManualClock, tampering: str, refusal: type[StoreError]
) -> None:
    await make(path, clock)
    run(path, tampering)
    assert await refusal_of(path, clock) is refusal


async def test_statistics_and_indexes_of_an_operator_do_no_harm(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    run(path, "CREATE INDEX theirs ON heads (trace); ANALYZE")
    store = await SqliteEventStore.open(path, clock)
    await given(store, write("b"))
    await store.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET data = x''",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "UPDATE audit_log SET actor = 'nobody'",
        "DELETE FROM audit_log",
        "INSERT OR REPLACE INTO audit_log SELECT * FROM audit_log",
        "UPDATE migrations SET checksum = ''",
        "DELETE FROM migrations",
        "INSERT OR REPLACE INTO migrations SELECT * FROM migrations",
        "DELETE FROM heads",
        "INSERT OR REPLACE INTO heads SELECT * FROM heads",
    ],
)
async def test_what_was_stored_can_be_neither_changed_nor_deleted(path: Path, clock: ManualClock, sql: str) -> None:
    await make(path, clock)
    connection = SqliteConnection(SqliteFile(str(path)), seconds=1)
    with pytest.raises(apsw.ConstraintError, match="never"):
        connection.cursor.execute(sql)
    connection.close()


async def test_a_reading_connection_cannot_write(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    connection = SqliteConnection(SqliteFile(str(path)), seconds=1, read_only=True)
    with pytest.raises(apsw.ReadOnlyError):
        connection.cursor.execute("INSERT INTO beats VALUES ('a', 'b', 1)")
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TRIGGER events_refuse_delete; DELETE FROM events WHERE version = 1",
        "DROP TRIGGER events_refuse_delete; DELETE FROM events WHERE version = 2",
        "DROP TRIGGER events_refuse_update; UPDATE events SET version = 3 WHERE version = 2",
        "UPDATE heads SET version = 1",
        "UPDATE heads SET version = 3",
        "DROP TRIGGER heads_refuse_delete; DELETE FROM heads",
    ],
)
async def test_events_that_do_not_fit_their_head_are_not_loaded(
    sqlite_store: SqliteEventStore, path: Path, damage: str
) -> None:
    await given(sqlite_store, write("a", events=(event(), event())))
    run(path, damage)
    with pytest.raises(StoreCorrupt):
        await sqlite_store.load(SCOPE, "a")
    await given(sqlite_store, write("b"))
    assert (await loaded(sqlite_store, "b")).version == 1


async def test_a_stream_that_is_longer_than_allowed_is_not_loaded(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    store = await SqliteEventStore.open(path, clock, max_events_per_stream=1)
    with pytest.raises(StreamTooLong):
        await store.load(SCOPE, "a")
    assert len(await store.list_by_correlation(SCOPE, head().correlation)) == 1
    await store.close()


async def test_a_lone_head_cannot_be_built_on(sqlite_store: SqliteEventStore, path: Path) -> None:
    await given(sqlite_store, write("a"))
    run(path, "DROP TRIGGER heads_refuse_delete; DELETE FROM heads")
    with pytest.raises(StoreCorrupt):
        await sqlite_store.append(write("a"))
    await given(sqlite_store, write("b"))


def test_an_open_file_is_found_by_its_mark(path: Path) -> None:
    connection = SqliteConnection(SqliteFile(str(path)), seconds=1, create=True)
    before = connection.is_marked
    connection.mark()
    assert (before, connection.is_marked) == (False, True)
    connection.close()
