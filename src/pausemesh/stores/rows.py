"""How the rows of a store look, and what they become for its callers.

Times are integer microseconds since 1970 (UTC) here, and datetimes in what leaves this module.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from pausemesh.core.errors import StoreCorrupt, StreamTooLong
from pausemesh.records import AuditRow, ClaimColumns, Head, Recorded, RecordedAudit, Stream, Write

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
BEFORE_ALL_TIMES: Final = -(2**63)
EARLIEST: Final = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
LATEST: Final = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND

Bindings: TypeAlias = tuple[str | bytes | int | None, ...]
"""The values of a statement's parameters, in the order of their first use in it."""


def to_micros(value: datetime) -> int:
    """Return the microseconds since 1970 of a time with a zone."""
    return (value - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    """Return the UTC time of so many microseconds since 1970."""
    return EPOCH + timedelta(microseconds=value)


def maybe_time(value: int | None) -> datetime | None:
    """Return the same of a time that may be missing."""
    return None if value is None else from_micros(value)


def maybe_micros(value: datetime | None) -> int | None:
    """Return the microseconds since 1970 of a time that may be missing."""
    return None if value is None else to_micros(value)


def open_position(after: tuple[datetime, str] | None) -> tuple[int, str]:
    """Return a cursor over open streams as it is compared; None stands before them all."""
    return (BEFORE_ALL_TIMES, "") if after is None else (to_micros(after[0]), after[1])


def audit_position(after: tuple[datetime, UUID] | None) -> tuple[int, bytes]:
    """Return a cursor over audit rows as it is compared; None stands before them all."""
    return (BEFORE_ALL_TIMES, b"") if after is None else (to_micros(after[0]), after[1].bytes)


class HeadRow(NamedTuple):
    """A row of ``heads``, its columns in the order of the table."""

    scope: str
    stream: str
    version: int
    kind: str
    status: str
    open: int
    correlation: str
    owner: str | None
    trace: str | None
    queue: str | None
    token_hash: bytes | None
    due_at: int | None
    created_at: int
    updated_at: int
    holder: str | None = None
    fence: int = 0
    lease_until: int | None = None
    done_at: int | None = None
    attempts: int = 0

    def is_held(self, now: int) -> bool:
        """Tell whether somebody holds the claim under a live lease and has not finished."""
        return (
            self.holder is not None and self.lease_until is not None and self.lease_until > now and self.done_at is None
        )


class EventRow(NamedTuple):
    """A row of ``events``, its columns in the order of the table."""

    seq: int
    scope: str
    stream: str
    version: int
    id: bytes
    type: str
    at: int
    data: bytes


class AuditLogRow(NamedTuple):
    """A row of ``audit_log``, its columns in the order of the table."""

    scope: str
    at: int
    id: bytes
    action: str
    noun: str
    noun_id: str
    correlation: str
    actor: str
    digest: str | None
    note: str | None


def created_head(write: Write, head: Head, now: int) -> HeadRow:
    """Return the head of a stream that this write creates."""
    return HeadRow(
        write.scope,
        write.stream,
        len(write.events),
        head.kind,
        head.status,
        int(head.open),
        head.correlation,
        head.owner,
        head.trace,
        head.queue,
        head.token_hash,
        maybe_micros(head.due_at),
        now,
        now,
    )


def changed_head(row: HeadRow, write: Write, head: Head, now: int) -> HeadRow:
    """Return the head as this write leaves it; the claim stays, or is done."""
    return HeadRow(
        row.scope,
        row.stream,
        write.expected_version + len(write.events),
        row.kind,
        head.status,
        int(head.open),
        row.correlation,
        head.owner,
        head.trace,
        head.queue,
        head.token_hash,
        maybe_micros(head.due_at),
        row.created_at,
        now,
        row.holder,
        row.fence,
        row.lease_until,
        now if write.finish else row.done_at,
        row.attempts,
    )


def restored_head(stream: Stream) -> HeadRow:
    """Return the head of a stream as it is stored, its claim included."""
    head, claim = stream.head, stream.claim
    return HeadRow(
        stream.scope,
        stream.stream,
        stream.version,
        head.kind,
        head.status,
        int(head.open),
        head.correlation,
        head.owner,
        head.trace,
        head.queue,
        head.token_hash,
        maybe_micros(head.due_at),
        to_micros(stream.created_at),
        to_micros(stream.updated_at),
        claim.holder,
        claim.fence,
        maybe_micros(claim.lease_until),
        maybe_micros(claim.done_at),
        claim.attempts,
    )


def audit_row(scope: str, at: int, row: AuditRow) -> AuditLogRow:
    """Return an audit row as it is stored."""
    return AuditLogRow(
        scope,
        at,
        row.id.bytes,
        row.action,
        row.noun,
        row.noun_id,
        row.correlation,
        row.actor,
        row.digest,
        row.note,
    )


def recorded(row: tuple[Any, ...]) -> Recorded:
    """Return a row like ``EventRow`` as callers see it."""
    seq, scope, stream, version, event_id, event_type, at, data = row
    return Recorded(
        scope=scope,
        stream=stream,
        version=version,
        id=UUID(bytes=event_id),
        type=event_type,
        at=from_micros(at),
        seq=seq,
        data=data,
    )


def recorded_audit(row: AuditLogRow) -> RecordedAudit:
    """Return an audit row as callers see it."""
    return RecordedAudit(
        scope=row.scope,
        at=from_micros(row.at),
        row=AuditRow(
            id=UUID(bytes=row.id),
            action=row.action,
            noun=row.noun,
            noun_id=row.noun_id,
            correlation=row.correlation,
            actor=row.actor,
            digest=row.digest,
            note=row.note,
        ),
    )


def stream_of(row: HeadRow, events: tuple[Recorded, ...] = ()) -> Stream:
    """Return a stream as callers see it, with the events given."""
    return Stream(
        scope=row.scope,
        stream=row.stream,
        version=row.version,
        head=Head(
            kind=row.kind,
            status=row.status,
            open=bool(row.open),
            correlation=row.correlation,
            owner=row.owner,
            trace=row.trace,
            queue=row.queue,
            token_hash=row.token_hash,
            due_at=maybe_time(row.due_at),
        ),
        claim=ClaimColumns(
            holder=row.holder,
            fence=row.fence,
            lease_until=maybe_time(row.lease_until),
            done_at=maybe_time(row.done_at),
            attempts=row.attempts,
        ),
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        events=events,
    )


def whole_stream(head: HeadRow, events: Sequence[tuple[Any, ...]], most: int) -> Stream:
    """Return a stream with all its events.

    Args:
        head: of the stream.
        events: what is stored of it, by version, as rows like ``EventRow``.
        most: how many events a stream may hold.

    Raises:
        StreamTooLong: it holds more.
        StoreCorrupt: its versions are not 1 to n without a gap, or the head says another n.
    """
    if head.version > most:
        raise StreamTooLong(limit=most)
    found = tuple([recorded(row) for row in events])
    places = [(event.scope, event.stream, event.version) for event in found]
    if places != [(head.scope, head.stream, version) for version in range(1, head.version + 1)]:
        raise StoreCorrupt("A stream's versions have a gap, or its head has another version.")
    return stream_of(head, found)
