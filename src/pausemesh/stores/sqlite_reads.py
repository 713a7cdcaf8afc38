"""What is looked up in a SQLite file."""

from collections.abc import Callable
from typing import Final, TypeVar

import apsw

from pausemesh.core import limits
from pausemesh.core.errors import StoreCorrupt
from pausemesh.records import Examined, Recorded, RecordedAudit, Stream
from pausemesh.stores.batch import EventMark
from pausemesh.stores.rows import (
    Bindings,
    HeadRow,
    recorded,
    recorded_audit,
    stream_of,
    whole_stream,
)
from pausemesh.stores.sqlite_rows import (
    Row,
    audit_row_of,
    count_of,
    event_of,
    fetch,
    head_of,
    mark_of,
    name_of,
    time_of,
)
from pausemesh.stores.sqlite_schema import verify_schema
from pausemesh.stores.statements import statement

_FIND_HEAD: Final = statement("sqlite", "find_head")
_FIND_EVENT: Final = statement("sqlite", "find_event")
_FIND_BEAT: Final = statement("sqlite", "find_beat")
_FIND_LAST_SEQ: Final = statement("sqlite", "find_last_seq")
_LIST_EVENTS: Final = statement("sqlite", "list_events")
_LIST_BY_CORRELATION: Final = statement("sqlite", "list_by_correlation")
_LIST_OPEN_BY_STATUS: Final = statement("sqlite", "list_open_by_status")
_LIST_DUE: Final = statement("sqlite", "list_due")
_LIST_AUDIT_ROWS: Final = statement("sqlite", "list_audit_rows")
_LIST_EVENTS_AFTER: Final = statement("sqlite", "list_events_after")
_LIST_EVENTS_OF_SCOPE: Final = statement("sqlite", "list_events_of_scope")
_LIST_EVENTS_OF_CORRELATION: Final = statement("sqlite", "list_events_of_correlation")


_LIST_NAMES_OF_HEADS: Final = statement("sqlite", "list_names_of_heads")
_LIST_NAMES_OF_EVENTS: Final = statement("sqlite", "list_names_of_events")
_CHECK_INTEGRITY: Final = statement("sqlite", "check_integrity")
_CHECK_INTEGRITY_QUICKLY: Final = statement("sqlite", "check_integrity_quickly")
_COUNT_EVENTS: Final = statement("sqlite", "count_events")
_SOUND: Final = "ok"

RowT = TypeVar("RowT")


class SqliteReads:
    """Look-ups within a transaction, so that a head and its events belong together.

    Every cursor is read to its end: one that is not keeps the log from being cleaned up.
    """

    def __init__(self, cursor: apsw.Cursor, most_events: int) -> None:
        self._cursor = cursor
        self._most_events = most_events

    def find_head(self, scope: str, stream: str) -> HeadRow | None:
        """Return the head of a stream."""
        rows = fetch(self._cursor, _FIND_HEAD, (scope, stream))
        return head_of(rows[0]) if rows else None

    def find_event(self, scope: str, stream: str, version: int) -> EventMark | None:
        """Return the mark of one event."""
        rows = fetch(self._cursor, _FIND_EVENT, (scope, stream, version))
        return mark_of(rows[0]) if rows else None

    def find_beat(self, scope: str, stream: str) -> int | None:
        """Return the last beat of a stream in microseconds."""
        rows = fetch(self._cursor, _FIND_BEAT, (scope, stream))
        return time_of(rows[0]) if rows else None

    def check_schema(self) -> None:
        """Pass the schema of this release and no other.

        Raises:
            SchemaError: it is another.
        """
        verify_schema(self._cursor)

    def find_last_seq(self) -> int:
        """Return the greatest seq, 0 where there is none."""
        (row,) = fetch(self._cursor, _FIND_LAST_SEQ)
        return count_of(row)

    def find_stream(self, head: HeadRow) -> Stream:
        """Return a stream with all its events.

        Raises:
            StoreCorrupt: its events do not fit its head.
            StreamTooLong: it holds more events than it may.
        """
        bindings = (head.scope, head.stream, self._most_events + 1)
        rows = fetch(self._cursor, _LIST_EVENTS, bindings)
        return whole_stream(head, [event_of(row) for row in rows], self._most_events)

    def load(self, scope: str, stream: str) -> Stream | None:
        """Return the stream of this name with all its events.

        Raises:
            StoreCorrupt: there are events without a head, or they do not fit it.
            StreamTooLong: it holds more events than it may.
        """
        head = self.find_head(scope, stream)
        if head is not None:
            return self.find_stream(head)
        if self.find_event(scope, stream, 1) is not None:
            raise StoreCorrupt("A stream's head is missing.")
        return None

    def list_by_correlation(self, scope: str, correlation: str, after: str, limit: int) -> list[Stream]:
        """Return the streams of a correlation past a stream's name, by that name."""
        return self._list_streams(_LIST_BY_CORRELATION, (scope, correlation, after, limit))

    def list_by_status(self, scope: str, kind: str, status: str, after: tuple[int, str], limit: int) -> list[Stream]:
        """Return open streams past a (created_at, stream), by these."""
        return self._list_streams(_LIST_OPEN_BY_STATUS, (scope, kind, status, *after, limit))

    def list_due(self, now: int, limit: int) -> list[Stream]:
        """Return the streams whose deadline has passed, longest overdue first."""
        return self._list_streams(_LIST_DUE, (now, limit))

    def list_audit(self, scope: str, after: tuple[int, bytes], limit: int) -> list[RecordedAudit]:
        """Return the audit rows of a scope past an (at, id), by these."""
        rows = fetch(self._cursor, _LIST_AUDIT_ROWS, (scope, *after, limit))
        return [recorded_audit(audit_row_of(row)) for row in rows]

    def feed(self, after_seq: int, scope: str | None, limit: int) -> list[Recorded]:
        """Return events past a seq, of one scope or of all."""
        if scope is None:
            return self._list_events(_LIST_EVENTS_AFTER, (after_seq, limit))
        return self._list_events(_LIST_EVENTS_OF_SCOPE, (after_seq, scope, limit))

    def feed_of_correlation(self, scope: str, correlation: str, after_seq: int, limit: int) -> list[Recorded]:
        """Return events past a seq, of one correlation's streams."""
        bindings = (scope, correlation, after_seq, limit)
        return self._list_events(_LIST_EVENTS_OF_CORRELATION, bindings)

    def list_names(self, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return the names of all that is stored past one, by these: of heads, and of events without a head.

        Raises:
            StoreCorrupt: a name cannot be read.
        """
        of_both = {
            name_of(row)
            for sql in (_LIST_NAMES_OF_HEADS, _LIST_NAMES_OF_EVENTS)
            for row in fetch(self._cursor, sql, (*after, limit))
        }
        return sorted(of_both)[:limit]

    def examine(self, scope: str, stream: str) -> Examined:
        """Return what is stored of a stream, without the rows that cannot be read."""
        heads, no_heads = self._readable(_FIND_HEAD, (scope, stream), head_of)
        events, no_events = self._readable(_LIST_EVENTS, (scope, stream, limits.EXAMINED_EVENTS), event_of)
        return Examined(
            scope=scope,
            stream=stream,
            head=stream_of(heads[0]) if heads else None,
            events=tuple([recorded(row) for row in events]),
            unreadable=no_heads + no_events,
        )

    def check_integrity(self, *, quick: bool) -> list[str]:
        """Return what SQLite says of its file, and whether numbers of events are missing."""
        sql = _CHECK_INTEGRITY_QUICKLY if quick else _CHECK_INTEGRITY
        found = [str(message) for (message,) in fetch(self._cursor, sql) if message != _SOUND]
        ((events, greatest, numbers),) = fetch(self._cursor, _COUNT_EVENTS)
        if not events == greatest == numbers:
            found.append(f"{numbers} numbers were given to events; {events} events are there, the last is {greatest}.")
        return found

    def _readable(self, sql: str, bindings: Bindings, read: Callable[[Row], RowT]) -> tuple[list[RowT], int]:
        """Return the rows that can be read, and how many cannot; a text that is not UTF-8 hides all of them."""
        found: list[RowT] = []
        rows: list[Row] | None = None
        unreadable = 0
        try:
            rows = fetch(self._cursor, sql, bindings)
        except StoreCorrupt:
            unreadable = 1
        for row in rows or ():
            try:
                found.append(read(row))
            except StoreCorrupt:
                unreadable += 1
        return found, unreadable

    def _list_streams(self, sql: str, bindings: Bindings) -> list[Stream]:
        return [stream_of(head_of(row)) for row in fetch(self._cursor, sql, bindings)]

    def _list_events(self, sql: str, bindings: Bindings) -> list[Recorded]:
        return [recorded(event_of(row)) for row in fetch(self._cursor, sql, bindings)]
