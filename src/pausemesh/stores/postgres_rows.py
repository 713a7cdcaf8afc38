"""Rows as PostgreSQL gives them, and what they are for the stores: times become microseconds since 1970."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from pausemesh.core.errors import StoreCorrupt
from pausemesh.records import Examined, Stream
from pausemesh.stores.postgres_values import maybe_micros_of, micros_of
from pausemesh.stores.rows import AuditLogRow, EventRow, HeadRow, recorded, stream_of, whole_stream

Row: TypeAlias = tuple[Any, ...]

HEAD_COLUMNS: Final = 17
"""From version to attempts; every statement that reads heads has them in this order."""


def head_of(scope: str, stream: str, columns: Row) -> HeadRow | None:
    """Return a row of ``heads`` of its columns from version to attempts; None where an outer join found none."""
    if columns[0] is None:
        return None
    version, kind, status, is_open, correlation, owner, trace, queue, token_hash, *rest = columns
    due_at, created_at, updated_at, holder, fence, lease_until, done_at, attempts = rest
    return HeadRow(
        scope,
        stream,
        version,
        kind,
        status,
        int(is_open),
        correlation,
        owner,
        trace,
        queue,
        token_hash,
        maybe_micros_of(due_at),
        micros_of(created_at),
        micros_of(updated_at),
        holder,
        fence,
        maybe_micros_of(lease_until),
        maybe_micros_of(done_at),
        attempts,
    )


def found_head(row: Row) -> HeadRow:
    """Return a row of ``heads`` with its scope and stream in front."""
    scope, stream, *columns = row
    head = head_of(scope, stream, tuple(columns))
    if head is None:
        raise StoreCorrupt("A head has no version.")
    return head


def event_of(scope: str, stream: str, columns: Row) -> EventRow:
    """Return a row of ``events`` of its columns version, id, type, at, seq and data."""
    version, event_id, event_type, at, seq, data = columns
    return EventRow(seq, scope, stream, version, event_id, event_type, micros_of(at), data)


def found_event(row: Row) -> EventRow:
    """Return a row of ``events``, its columns in the order of the table."""
    seq, scope, stream, version, event_id, event_type, at, data = row
    return EventRow(seq, scope, stream, version, event_id, event_type, micros_of(at), data)


def found_audit_row(row: Row) -> AuditLogRow:
    """Return a row of ``audit_log``, its columns in the order of the table."""
    scope, at, *rest = row
    return AuditLogRow(scope, micros_of(at), *rest)


def loaded_stream(ref: tuple[str, str], rows: Sequence[Row], most_events: int) -> Stream | None:
    """Return one stream.

    Args:
        ref: its scope and name.
        rows: its number, the columns of its head, and those of one event each; None where there is none.
        most_events: how many events a stream may hold.

    Raises:
        StoreCorrupt: its parts do not fit each other.
        StreamTooLong: it holds more events than it may.
    """
    head = head_of(*ref, rows[0][1 : HEAD_COLUMNS + 1])
    events = [event_of(*ref, columns) for columns in _events_in(rows)]
    if head is not None:
        return whole_stream(head, events, most_events)
    if events:
        raise StoreCorrupt("A stream's head is missing.")
    return None


def examined_stream(ref: tuple[str, str], rows: Sequence[Row]) -> Examined:
    """Return all that is stored of a stream, without the rows whose times mean nothing here."""
    unreadable = 0
    head, events = None, []
    try:
        head = head_of(*ref, rows[0][1 : HEAD_COLUMNS + 1])
    except StoreCorrupt:
        unreadable += 1
    for columns in _events_in(rows):
        try:
            events.append(recorded(event_of(*ref, columns)))
        except StoreCorrupt:
            unreadable += 1
    scope, stream = ref
    return Examined(
        scope=scope,
        stream=stream,
        head=None if head is None else stream_of(head),
        events=tuple(events),
        unreadable=unreadable,
    )


def by_number(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Return rows by their first column."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


def _events_in(rows: Sequence[Row]) -> list[Row]:
    return [row[HEAD_COLUMNS + 1 :] for row in rows if row[HEAD_COLUMNS + 1] is not None]
