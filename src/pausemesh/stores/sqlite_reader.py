"""The threads that read a SQLite file: calls that wait share a snapshot."""

from typing import Any, Final, TypeAlias

import apsw

from pausemesh.stores.background import Background
from pausemesh.stores.calls import Call, Inbox, part_late, send_replies, waited_too_long
from pausemesh.stores.sqlite_connection import SqliteConnection, translate
from pausemesh.stores.sqlite_file import FileMoved, SqliteFile
from pausemesh.stores.sqlite_reads import SqliteReads
from pausemesh.stores.sqlite_schema import verify_schema
from pausemesh.stores.statements import statement

_BEGIN: Final = statement("sqlite", "begin_read")
_COMMIT: Final = statement("sqlite", "commit")
CALLS_PER_SNAPSHOT: Final = 64
"""A call of this weight gets a snapshot of its own, so that no other waits for it."""

ReadCall: TypeAlias = Call[SqliteReads, Any]


class SqliteReader:
    """Takes calls from an inbox that several readers share; opens its connection with the first.

    Args:
        file: what to read, which must be there.
        inbox: of all readers.
        most_events: how many events a stream may hold.
        seconds: how long to wait for a lock.
    """

    def __init__(self, file: SqliteFile, inbox: Inbox[SqliteReads], *, most_events: int, seconds: float) -> None:
        self._file = file
        self._inbox = inbox
        self._most_events = most_events
        self._seconds = seconds
        self._connection: SqliteConnection | None = None
        self.background = Background(self._run, "pausemesh-sqlite-reader")

    def _run(self) -> None:
        while calls := self._inbox.take(CALLS_PER_SNAPSHOT):
            send_replies(self._serve(calls))
        self._drop_connection()

    def _serve(self, calls: list[ReadCall]) -> list[tuple[ReadCall, object]]:
        calls, late = part_late(calls)
        refusals: list[tuple[ReadCall, object]] = [(call, waited_too_long()) for call in late]
        try:
            return refusals + self._look_up_in_place(calls)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it
            self._drop_connection()
            return refusals + [(call, _meaning(error)) for call in calls]

    def _look_up_in_place(self, calls: list[ReadCall]) -> list[tuple[ReadCall, object]]:
        try:
            return self._look_up(calls)
        except FileMoved:
            self._drop_connection()
            return self._look_up(calls)

    def _look_up(self, calls: list[ReadCall]) -> list[tuple[ReadCall, object]]:
        connection = self._connect()
        connection.be_patient()
        connection.cursor.execute(_BEGIN)
        reads = SqliteReads(connection.cursor, self._most_events)
        replies = [(call, _reply_to(call, reads)) for call in calls]
        connection.cursor.execute(_COMMIT)
        connection.check_in_place()
        return replies

    def _connect(self) -> SqliteConnection:
        if self._connection is None:
            self._connection = SqliteConnection(self._file, seconds=self._seconds, read_only=True)
            if self._file.was_replaced:
                verify_schema(self._connection.cursor)
        return self._connection

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _reply_to(call: ReadCall, reads: SqliteReads) -> object:
    try:
        return call.work(reads)
    except apsw.Error:
        raise
    except Exception as error:  # noqa: BLE001 - what a call alone is to blame for hurts no other
        return error


def _meaning(error: Exception) -> Exception:
    return translate(error) if isinstance(error, apsw.Error) else error
