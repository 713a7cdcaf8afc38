"""The one thread that writes to a SQLite file: calls that wait share a commit."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeAlias

import apsw

from pausemesh.core import limits
from pausemesh.core.errors import OutcomeUnknown, PauseMeshError, StoreUnavailable
from pausemesh.ports import Clock
from pausemesh.records import CrashPoint
from pausemesh.stores.background import Background
from pausemesh.stores.calls import Call, Inbox, part_late, send_replies, waited_too_long
from pausemesh.stores.rows import to_micros
from pausemesh.stores.sqlite_connection import SqliteConnection, translate
from pausemesh.stores.sqlite_file import FileMoved, SqliteFile
from pausemesh.stores.sqlite_schema import prepare_schema, verify_schema
from pausemesh.stores.sqlite_writes import SqliteWrites
from pausemesh.stores.statements import statement
from pausemesh.stores.wakeups import Wakeups

_BEGIN: Final = statement("sqlite", "begin_write")
_COMMIT: Final = statement("sqlite", "commit")
_ROLLBACK: Final = statement("sqlite", "rollback")

WriteCall: TypeAlias = Call[SqliteWrites, Any]
_Reply: TypeAlias = tuple[WriteCall, object]
_HARMLESS: Final = (apsw.BusyError, apsw.FullError, apsw.ConstraintError)


class _InDoubtError(Exception):
    """The commit was sent and its outcome is not known."""


class SqliteWriter:
    """Takes calls from its inbox, does them in one transaction, and replies once that is durable.

    Args:
        file: what to write to.
        create: make it with its folder where there is none, and bring an older schema up to date.
        clock: read once in each transaction.
        most_events: how many events a stream may hold.
        seconds: how long a call may wait before it is sent.
        wakeups: told the greatest seq after each commit.
        fault: called at the named points.
    """

    def __init__(
        self,
        file: SqliteFile,
        clock: Clock,
        *,
        create: bool,
        most_events: int,
        seconds: float,
        wakeups: Wakeups,
        fault: Callable[[CrashPoint], None] | None,
    ) -> None:
        self._file = file
        self._clock = clock
        self._create = create
        self._most_events = most_events
        self._seconds = seconds
        self._wakeups = wakeups
        self._fault = fault
        self._connection: SqliteConnection | None = None
        self.inbox: Inbox[SqliteWrites] = Inbox(OutcomeUnknown)
        self.opened: Future[None] = Future()
        self.opened.set_running_or_notify_cancel()  # so that no waiter can cancel it
        self.background = Background(self._run, "pausemesh-sqlite-writer")

    def _run(self) -> None:
        try:
            self._connection = self._open_first()
        except BaseException as error:  # noqa: BLE001 - it is raised where the opening is waited for
            self.opened.set_exception(error)
            return
        self.opened.set_result(None)
        while calls := self.inbox.take(limits.WRITES_PER_FLUSH):
            send_replies(self._serve(calls))
        self._drop_connection()

    def _open_first(self) -> SqliteConnection:
        if self._create:
            try:
                Path(self._file.path).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreUnavailable(f"The folder cannot be made: {error.strerror}.") from error
        return self._open(create=self._create)

    def _open(self, *, create: bool) -> SqliteConnection:
        connection = SqliteConnection(self._file, seconds=self._seconds, create=create)
        try:
            connection.sync_log()
            if create:
                prepare_schema(connection, self._clock, self._fault)
            else:
                verify_schema(connection.cursor)
        except BaseException:
            connection.close()
            raise
        return connection

    def _serve(self, calls: list[WriteCall]) -> list[_Reply]:
        """Do the calls together; where one of them fails, each on its own, so that it hurts no other."""
        replies: list[_Reply] = []
        while calls:
            calls, late = part_late(calls)
            replies += [(call, waited_too_long()) for call in late]
            if not calls:
                break
            try:
                return replies + self._attempt(calls, min(call.deadline for call in calls))
            except (apsw.BusyError, FileMoved):
                continue
            except _InDoubtError:
                return replies + self._resend(calls)
            except Exception as error:  # noqa: BLE001 - whatever it is, its caller gets it
                return replies + self._serve_each(calls, error)
        return replies

    def _serve_each(self, calls: list[WriteCall], error: Exception) -> list[_Reply]:
        if len(calls) > 1:
            return [reply for call in calls for reply in self._serve([call])]
        return [(calls[0], translate(error) if isinstance(error, apsw.Error) else error)]

    def _resend(self, calls: list[WriteCall]) -> list[_Reply]:
        """Settle what became of a commit by doing the very same again on another connection."""
        replies: list[_Reply] = [(call, OutcomeUnknown()) for call in calls if not call.repeatable]
        again = [call for call in calls if call.repeatable]
        try:
            return replies + self._attempt(again, time.monotonic() + self._seconds)
        except Exception:  # noqa: BLE001 - the first try is still in doubt, whatever happens to this one
            return replies + [(call, OutcomeUnknown()) for call in again]

    def _attempt(self, calls: list[WriteCall], deadline: float) -> list[_Reply]:
        """Do the calls in one transaction.

        Raises:
            _InDoubtError: the commit failed and may have happened.
            Exception: surely nothing was committed.
        """
        connection = self._connect()
        connection.be_patient_until(deadline)
        self._reach(CrashPoint.BEFORE_BEGIN)
        try:
            connection.cursor.execute(_BEGIN)
            now = to_micros(self._clock.now())
            writes = SqliteWrites(connection, now, self._most_events, self._fault)
            replies = [(call, _reply_to(call, writes, connection)) for call in calls]
            self._reach(CrashPoint.AFTER_APPEND_BEFORE_COMMIT)
            connection.check_in_place()  # here it is sure that nothing was written
        except BaseException as error:
            self._roll_back(connection, error)
            raise
        try:
            connection.cursor.execute(_COMMIT)
        except apsw.Error as error:
            self._roll_back(connection, error)
            if isinstance(error, apsw.FullError):
                raise
            raise _InDoubtError from error
        return self._committed(connection, replies, writes.last_seq)

    def _committed(self, connection: SqliteConnection, replies: list[_Reply], last_seq: int) -> list[_Reply]:
        """Return the replies to what was committed, where the file is in its place even now."""
        if not connection.is_in_place:
            self._drop_connection()
            return [(call, OutcomeUnknown()) for call, _ in replies]
        try:
            self._wakeups.announce(last_seq)
            self._reach(CrashPoint.AFTER_COMMIT_BEFORE_REPLY)
        except Exception:  # noqa: BLE001 - a reply that is lost on its way leaves its caller in doubt
            return [(call, OutcomeUnknown()) for call, _ in replies]
        return replies

    def _connect(self) -> SqliteConnection:
        """Return the connection, opened anew after it failed; the file must be there still."""
        if self._connection is None:
            self._connection = self._open(create=False)
        return self._connection

    def _roll_back(self, connection: SqliteConnection, error: BaseException) -> None:
        """Undo the transaction; a connection that failed for a reason of its own is given up."""
        is_fit = connection.is_in_place and (not isinstance(error, apsw.Error) or isinstance(error, _HARMLESS))
        try:
            if connection.in_transaction:
                connection.cursor.execute(_ROLLBACK)
        except apsw.Error:
            is_fit = False
        if not is_fit:
            self._drop_connection()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _reach(self, point: CrashPoint) -> None:
        if self._fault is not None:
            self._fault(point)


def _reply_to(call: WriteCall, writes: SqliteWrites, connection: SqliteConnection) -> object:
    """Return a call's result, or its error where it left no trace in the transaction."""
    changes = connection.changes
    try:
        return call.work(writes)
    except PauseMeshError as error:
        if connection.changes != changes:
            raise
        return error
