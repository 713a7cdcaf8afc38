"""A connection to a SQLite file: how it is opened, how patient it is, and what its errors mean."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import apsw

from pausemesh.core.errors import (
    SchemaMissing,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnsafe,
)
from pausemesh.stores.sqlite_file import FileMoved, Files, SqliteFile
from pausemesh.stores.sqlite_forks import OPEN_CONNECTIONS

APPLICATION_ID: Final = 0x504D5348
"""``PMSH``: marks a file as ours in its header."""

OLDEST_SAFE_LIBRARY: Final = (3, 51, 3)
"""Older ones can lose commits when a checkpoint races a commit (the WAL-reset bug)."""

_DAMAGES: Final = (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError, apsw.MismatchError, apsw.SQLError)
"""The statements are fixed and fit the schema: where they make no sense to SQLite, the file is to blame."""

_BUSY_SLEEP_SECONDS: Final = 0.001
_SYNCHRONOUS_FULL: Final = 2
_JOURNAL_BYTES: Final = 64 * 1024 * 1024


class SqliteConnection:
    """One thread's connection; ``cursor`` runs its statements.

    Args:
        file: what to open.
        seconds: how long to wait where others hold a lock, at most.
        create: make the file where there is none.
        read_only: refuse statements that write.

    Raises:
        ForkedMesh: this process was forked while another one was open.
        StoreError: the file cannot be used.
    """

    def __init__(self, file: SqliteFile, *, seconds: float, create: bool = False, read_only: bool = False) -> None:
        self._file = file
        self._seconds = seconds
        self._patient_until = time.monotonic() + seconds
        OPEN_CONNECTIONS.add(self)
        try:
            with translated():
                self._connection, expected = _open(file, create=create)
        except BaseException:
            OPEN_CONNECTIONS.discard(self)
            raise
        self.cursor = self._connection.cursor()
        self._connection.set_busy_handler(self._wait_for_lock)
        try:
            with translated():
                self._settle(create=create, read_only=read_only)
            self._files = file.settle(expected)
        except BaseException:
            self.close()
            raise

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.in_transaction

    @property
    def changes(self) -> int:
        """How many rows were changed since the connection was opened."""
        return self._connection.total_changes()

    @property
    def last_row_id(self) -> int:
        """The rowid of the row inserted last."""
        return self._connection.last_insert_rowid()

    def be_patient_until(self, deadline: float) -> None:
        """Give up waiting for locks at this time by ``time.monotonic``."""
        self._patient_until = deadline

    def be_patient(self) -> None:
        """Give up waiting for locks after as long as was said at the start."""
        self._patient_until = time.monotonic() + self._seconds

    def sync_log(self) -> None:
        """Make durable what is visible: who died between writing and syncing a commit left it in the log unsynced.

        Without this such a commit could be reported as done, and be lost with the next power cut.
        """
        with translated():
            while True:
                try:
                    self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                except apsw.BusyError:
                    if not self._wait_for_lock(0):
                        raise
                else:
                    return

    @property
    def is_marked(self) -> bool:
        """Whether the file is marked as ours."""
        return bool(self._connection.pragma("application_id") == APPLICATION_ID)

    def mark(self) -> None:
        """Mark the file as ours."""
        self._connection.pragma("application_id", APPLICATION_ID)

    def close(self) -> None:
        """Let go of the file; the last one to do so cleans its log up, where that succeeds."""
        with suppress(apsw.Error):
            self._connection.close()
        OPEN_CONNECTIONS.discard(self)

    @property
    def is_in_place(self) -> bool:
        """Whether the file and its log are where they were when they were opened."""
        return self._file.look() == self._files

    def check_in_place(self) -> None:
        """Pass a connection whose file and log are where they were when it was opened.

        Raises:
            FileMoved: one was removed or replaced.
        """
        if not self.is_in_place:
            raise FileMoved

    def _settle(self, *, create: bool, read_only: bool) -> None:
        """Refuse what is not ours before anything of it is touched, then make it safe."""
        pragma = self._connection.pragma
        # In this order: who makes the file at the same time commits its objects and its mark at once.
        if self._has_objects() and not self.is_marked:
            raise SchemaMissing("The file belongs to another application.")
        if not (create or self.is_marked):
            raise SchemaMissing("The file is empty.")
        if pragma("journal_mode") != "wal" and self._turn_wal_on() != "wal":
            raise StoreUnsafe("The file cannot have a write-ahead log.")
        pragma("synchronous", _SYNCHRONOUS_FULL)
        pragma("fullfsync", 1)
        pragma("checkpoint_fullfsync", 1)
        pragma("journal_size_limit", _JOURNAL_BYTES)
        pragma("recursive_triggers", 1)
        pragma("cell_size_check", 1)
        pragma("trusted_schema", 0)
        if read_only:
            pragma("query_only", 1)
        if pragma("synchronous") != _SYNCHRONOUS_FULL or pragma("recursive_triggers") != 1:
            raise StoreUnsafe("The library does not keep its settings.")
        self._has_objects()  # a look opens the log, which turning it on does not

    def _has_objects(self) -> bool:
        return bool(self.cursor.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall())

    def _turn_wal_on(self) -> object:
        """Turn the log on; SQLite does not call the busy handler where two do so at once."""
        while True:
            try:
                return self._connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if not self._wait_for_lock(0):
                    raise

    def _wait_for_lock(self, _count: int) -> bool:
        time.sleep(_BUSY_SLEEP_SECONDS)
        return time.monotonic() < self._patient_until


def _open(file: SqliteFile, *, create: bool) -> tuple[apsw.Connection, Files]:
    flags = apsw.SQLITE_OPEN_READWRITE
    if create and file.is_missing():
        # Made first and then opened like any other, so that it is known which file was opened.
        file.make()
    expected = file.check()
    return apsw.Connection(file.path, flags=flags), expected


def check_library(version: str) -> None:
    """Pass a version of SQLite that keeps what it commits.

    Raises:
        StoreUnsafe: it is older.
    """
    if tuple(int(part) for part in version.split(".")) < OLDEST_SAFE_LIBRARY:
        oldest = ".".join(str(part) for part in OLDEST_SAFE_LIBRARY)
        raise StoreUnsafe(f"SQLite {version} can lose commits; {oldest} is the oldest that cannot.")


def translate(error: apsw.Error) -> StoreError:
    """Return what an error of SQLite means where no commit was sent: surely nothing was written."""
    detail = f"SQLite says {type(error).__name__}."
    if isinstance(error, apsw.FullError):
        return StoreFull(detail)
    if isinstance(error, _DAMAGES):
        return StoreCorrupt(detail)
    return StoreUnavailable(detail)


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of SQLite as errors of the store."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error) from error
