"""Looks for commits of other processes while somebody listens."""

import threading
from collections.abc import Callable
from typing import Final

import apsw

from pausemesh.core.errors import StoreError
from pausemesh.stores.background import Background
from pausemesh.stores.sqlite_connection import SqliteConnection
from pausemesh.stores.sqlite_file import SqliteFile
from pausemesh.stores.sqlite_reads import SqliteReads
from pausemesh.stores.statements import statement

_GET_DATA_VERSION: Final = statement("sqlite", "get_data_version")
_POLL_SECONDS: Final = 0.005


class SqlitePoller:
    """A ``Watch`` with a thread and a connection of its own, which the first listener starts.

    Args:
        file: what to look at, which must be there.
        announce: told the greatest seq after a commit; may be told the same again.
        seconds: how long to wait for a lock.
    """

    def __init__(self, file: SqliteFile, announce: Callable[[int], None], *, seconds: float) -> None:
        self._file = file
        self._announce = announce
        self._seconds = seconds
        self._changed = threading.Condition()
        self._wanted = False
        self._closed = False
        self._background: Background | None = None
        self._connection: SqliteConnection | None = None
        self._seen: object = None

    def start(self) -> None:
        """Begin to look."""
        with self._changed:
            self._wanted = not self._closed
            self._changed.notify()
            if self._wanted and self._background is None:
                self._background = Background(self._run, "pausemesh-sqlite-poller")
                self._background.start()

    def stop(self) -> None:
        """Cease to look."""
        with self._changed:
            self._wanted = False
            self._changed.notify()

    async def close(self) -> None:
        """End the thread and let go of the file."""
        with self._changed:
            self._closed, self._wanted = True, False
            self._changed.notify()
            background = self._background
        if background is not None:
            await background.ended()

    def _run(self) -> None:
        while self._wait_until_wanted():
            try:
                self._look()
            except (apsw.Error, StoreError):
                self._drop_connection()
        self._drop_connection()

    def _wait_until_wanted(self) -> bool:
        """Wait for the next look; return False where there is none any more."""
        with self._changed:
            if self._wanted:
                self._changed.wait(_POLL_SECONDS)
            while not self._wanted and not self._closed:
                self._seen = None
                self._changed.wait()
            return not self._closed

    def _look(self) -> None:
        if self._connection is None:
            self._connection = SqliteConnection(self._file, seconds=self._seconds, read_only=True)
            self._seen = None
        self._connection.check_in_place()
        version = self._connection.cursor.execute(_GET_DATA_VERSION).get
        if version != self._seen:
            self._seen = version
            self._announce(SqliteReads(self._connection.cursor, 0).find_last_seq())

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
