"""What is written to a SQLite file."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

import apsw

from pausemesh.core.errors import InvalidRequest, StoreCorrupt
from pausemesh.records import Appended, CrashPoint, Head, Held, Lease, Refused, Restoring, Write
from pausemesh.stores.batch import Cleared, histories, is_restorable, judge
from pausemesh.stores.rows import (
    MICROSECOND,
    Bindings,
    HeadRow,
    audit_row,
    changed_head,
    created_head,
    from_micros,
    restored_head,
)
from pausemesh.stores.sqlite_connection import SqliteConnection
from pausemesh.stores.sqlite_reads import SqliteReads
from pausemesh.stores.sqlite_rows import Row, claim_of, fetch
from pausemesh.stores.statements import statement

_INSERT_HEAD: Final = statement("sqlite", "insert_head")
_UPDATE_HEAD: Final = statement("sqlite", "update_head")
_REPLACE_HEAD: Final = statement("sqlite", "replace_head")
_INSERT_EVENT: Final = statement("sqlite", "insert_event")
_INSERT_AUDIT_ROW: Final = statement("sqlite", "insert_audit_row")
_SET_BEAT: Final = statement("sqlite", "set_beat")
_TAKE_CLAIM: Final = statement("sqlite", "take_claim")
_TAKE_NEXT_CLAIM: Final = statement("sqlite", "take_next_claim")
_RENEW_CLAIM: Final = statement("sqlite", "renew_claim")
_RELEASE_CLAIM: Final = statement("sqlite", "release_claim")


class SqliteWrites:
    """Changes within one transaction, all made at one time.

    Args:
        connection: in a transaction that holds the write lock.
        now: the store's clock in microseconds, read in that transaction.
        most_events: how many events a stream may hold.
        fault: called before a call's rows are written.

    Attributes:
        last_seq: of the last event stored in the transaction, 0 before the first.
    """

    def __init__(
        self,
        connection: SqliteConnection,
        now: int,
        most_events: int,
        fault: Callable[[CrashPoint], None] | None,
    ) -> None:
        self._connection = connection
        self._cursor = connection.cursor
        self._reads = SqliteReads(connection.cursor, most_events)
        self._now = now
        self._most_events = most_events
        self._fault = fault
        self.last_seq = 0

    def append(self, writes: Sequence[Write]) -> Appended | Refused:
        """Store all writes of one call, or none."""
        verdict = judge(writes, self._reads, self._now, self._most_events)
        if not isinstance(verdict, Cleared):
            return verdict
        if self._fault is not None:
            self._fault(CrashPoint.BEFORE_APPEND)
        heads = [self._put(write, head) for write, head in zip(writes, verdict.heads, strict=True)]
        return Appended(
            at=from_micros(self._now),
            last_seq=self.last_seq or self._reads.find_last_seq(),
            replayed=False,
            streams=histories(writes, heads, self._reads),
        )

    def beat(self, scope: str, streams: Sequence[str]) -> None:
        """Set the last beat of those streams that exist."""
        bindings = [(self._now, scope, stream) for stream in streams]
        self._cursor.executemany(_SET_BEAT, bindings).fetchall()

    def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream, or tell who holds it."""
        until = self._until(lease)
        taken = self._change(_TAKE_CLAIM, (worker, until, scope, stream, self._now))
        if taken is not None:
            return self._lease(scope, worker, until, taken)
        head = self._reads.find_head(scope, stream)
        if head is None or head.lease_until is None or not head.is_held(self._now) or head.open:
            return None
        return Held(at=from_micros(self._now), until=from_micros(head.lease_until), fence=head.fence)

    def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim that has been ready longest in a queue."""
        until = self._until(lease)
        taken = self._change(_TAKE_NEXT_CLAIM, (worker, until, scope, queue, self._now))
        return None if taken is None else self._lease(scope, worker, until, taken)

    def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on."""
        until = self._until(lease)
        renewed = self._change(_RENEW_CLAIM, (until, held.scope, held.stream, held.fence, self._now))
        if renewed is None:
            return None
        worker, fence, attempts = claim_of(renewed)
        return self._lease(held.scope, worker, until, (held.stream, fence, attempts))

    def release(self, held: Lease) -> bool:
        """Give a live lease back."""
        bindings = (held.scope, held.stream, held.fence, self._now)
        return self._change(_RELEASE_CLAIM, bindings) is not None

    def restore(self, restorings: Sequence[Restoring]) -> list[bool]:
        """Write heads anew where they are what was seen; one entry each."""
        return [self._restore(restoring) for restoring in restorings]

    def _restore(self, restoring: Restoring) -> bool:
        wanted = restored_head(restoring.head)
        try:
            before = self._reads.find_head(wanted.scope, wanted.stream)
        except StoreCorrupt:
            return False
        if not is_restorable(restoring, before, self._reads):
            return False
        if before is None:
            self._cursor.execute(_INSERT_HEAD, wanted)
        else:
            scope, stream, *columns = wanted
            self._cursor.execute(_REPLACE_HEAD, (*columns, scope, stream))
        return True

    def _until(self, lease: timedelta) -> int:
        return self._now + lease // MICROSECOND

    def _change(self, sql: str, bindings: Bindings) -> Row | None:
        rows = fetch(self._cursor, sql, bindings)
        return rows[0] if rows else None

    def _lease(self, scope: str, worker: str, until: int, taken: Row) -> Lease:
        stream, fence, attempts = claim_of(taken)
        return Lease(
            scope=scope,
            stream=stream,
            worker=worker,
            fence=fence,
            until=from_micros(until),
            attempts=attempts,
        )

    def _put(self, write: Write, before: HeadRow | None) -> HeadRow | None:
        """Do what a cleared write asks for, and return the head as it is then."""
        if write.head is not None:
            return self._store(write, write.head, before)
        if not write.finish or before is None:
            return before
        finished = before._replace(done_at=self._now)
        self._update_head(write, finished)
        return finished

    def _store(self, write: Write, head: Head, before: HeadRow | None) -> HeadRow:
        """Write the rows of a cleared write and return its head as it is now."""
        if before is None:
            after = created_head(write, head, self._now)
            self._cursor.execute(_INSERT_HEAD, after)
        else:
            after = changed_head(before, write, head, self._now)
            self._update_head(write, after)
        scope, stream, version = write.scope, write.stream, write.expected_version
        for event in write.events:
            version += 1
            self._cursor.execute(
                _INSERT_EVENT,
                (scope, stream, version, event.id.bytes, event.type, self._now, event.data),
            )
        self.last_seq = self._connection.last_row_id
        if write.rows:
            self._store_audit_rows(write)
        return after

    def _update_head(self, write: Write, head: HeadRow) -> None:
        bindings = (
            head.version,
            head.status,
            head.open,
            head.owner,
            head.trace,
            head.queue,
            head.token_hash,
            head.due_at,
            head.updated_at,
            head.done_at,
            head.scope,
            head.stream,
            write.expected_version,
        )
        before = self._connection.changes
        self._cursor.execute(_UPDATE_HEAD, bindings)
        if self._connection.changes != before + 1:
            raise StoreCorrupt("A head was not there any more in the transaction that read it.")

    def _store_audit_rows(self, write: Write) -> None:
        rows = [audit_row(write.scope, self._now, row) for row in write.rows]
        try:
            self._cursor.executemany(_INSERT_AUDIT_ROW, rows)
        except apsw.ConstraintError as error:
            raise InvalidRequest("An audit row with this id is stored already.") from error
