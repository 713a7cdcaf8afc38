"""The appends of one flush: what is sent for them, and what comes of it for each."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pausemesh.core.errors import InvalidRequest, PauseMeshError, StreamTooLong
from pausemesh.records import Appended, AuditRow, Due, Head, NewEvent, Reason, Refused, Stream, Write
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.postgres_rows import HEAD_COLUMNS, Row, by_number, event_of, head_of
from pausemesh.stores.postgres_values import Parameter, micros_of
from pausemesh.stores.rows import (
    EventRow,
    HeadRow,
    changed_head,
    created_head,
    from_micros,
    maybe_micros,
    whole_stream,
)

Call = tuple[Write, ...]
Reply = Appended | Refused | PauseMeshError

_REASONS: Final = {number: reason for number, reason in enumerate(Reason, start=1) if reason is not Reason.SIBLING}
_TOO_LONG: Final = 8
_DUE: Final = {Due.ANY: 1, Due.AHEAD: 2, Due.PASSED: 3}
_NO_HEAD: Final = Head(kind="", status="", open=False, correlation="")

_AFTER_HEAD: Final = 2 + HEAD_COLUMNS
_EARLIER: Final = slice(_AFTER_HEAD, _AFTER_HEAD + 2)
_EVENT: Final = slice(_AFTER_HEAD + 2, None)
_AT: Final = -3
_SEQ: Final = -2


def is_single(calls: Sequence[Call]) -> bool:
    """Tell whether this is one call with one write, one event and no row: ``append_one`` is made for it."""
    if len(calls) != 1 or len(calls[0]) != 1:
        return False
    [write] = calls[0]
    return len(write.events) == 1 and not write.rows


def parameters_of_one(write: Write) -> list[Parameter]:
    """Return what ``append_one`` is given beside the clock, the patience and the limit."""
    head = write.head or _NO_HEAD
    [event] = write.events
    return [
        pg.text(write.scope),
        pg.text(write.stream),
        pg.bigint(write.expected_version),
        write.token_hash,
        pg.integer(_DUE[write.due]),
        pg.bigint(write.fence),
        pg.boolean(write.finish),
        pg.timestamptz(maybe_micros(write.silent_since)),
        pg.boolean(write.history),
        pg.text(head.kind),
        pg.text(head.status),
        pg.boolean(head.open),
        pg.text(head.correlation),
        pg.text(head.owner),
        pg.text(head.trace),
        pg.text(head.queue),
        head.token_hash,
        pg.timestamptz(maybe_micros(head.due_at)),
        pg.uuid(event.id),
        pg.text(event.type),
        event.data,
    ]


def parameters_of_many(calls: Sequence[Call]) -> list[Parameter]:
    """Return what ``append_many`` is given beside the clock, the patience and the limit."""
    writes = [write for call in calls for write in call]
    return [
        pg.integers(number for number, call in enumerate(calls) for _ in call),
        *_of_conditions(writes),
        *_of_heads([write.head or _NO_HEAD for write in writes]),
        *_of_events([one for one in enumerate(writes, start=1) if one[1].events]),
        *_of_rows([one for one in enumerate(writes, start=1) if one[1].rows]),
    ]


def _of_conditions(writes: list[Write]) -> list[Parameter]:
    has_several = any(len(write.events) > 1 for write in writes)
    return [
        pg.texts(write.scope for write in writes),
        pg.texts(write.stream for write in writes),
        pg.bigints(write.expected_version for write in writes),
        pg.integers(len(write.events) for write in writes),
        pg.uuids(write.events[0].id if write.events else None for write in writes),
        pg.uuids(write.events[-1].id if write.events else None for write in writes) if has_several else None,
        pg.byteas(write.token_hash for write in writes),
        pg.integers(_DUE[write.due] for write in writes),
        pg.bigints(write.fence for write in writes),
        pg.booleans(write.finish for write in writes) if any(write.finish for write in writes) else None,
        pg.timestamptzs(maybe_micros(write.silent_since) for write in writes),
        pg.booleans(write.history for write in writes) if any(write.history for write in writes) else None,
    ]


def _of_heads(heads: list[Head]) -> list[Parameter]:
    return [
        pg.texts(head.kind for head in heads),
        pg.texts(head.status for head in heads),
        pg.booleans(head.open for head in heads),
        pg.texts(head.correlation for head in heads),
        pg.texts(head.owner for head in heads),
        pg.texts(head.trace for head in heads),
        pg.texts(head.queue for head in heads),
        pg.byteas(head.token_hash for head in heads),
        pg.timestamptzs(maybe_micros(head.due_at) for head in heads),
    ]


def _of_events(numbered: list[tuple[int, Write]]) -> list[Parameter]:
    events: list[tuple[int, Write, int, NewEvent]] = [
        (number, write, version, event)
        for number, write in numbered
        for version, event in enumerate(write.events, start=write.expected_version + 1)
    ]
    return [
        pg.integers(number for number, *_ in events),
        pg.texts(write.scope for _, write, _, _ in events),
        pg.texts(write.stream for _, write, _, _ in events),
        pg.bigints(version for _, _, version, _ in events),
        pg.uuids(event.id for *_, event in events),
        pg.texts(event.type for *_, event in events),
        pg.byteas(event.data for *_, event in events),
    ]


def _of_rows(numbered: list[tuple[int, Write]]) -> list[Parameter]:
    rows: list[tuple[int, str, AuditRow]] = [
        (number, write.scope, row) for number, write in numbered for row in write.rows
    ]
    return [
        pg.integers(number for number, *_ in rows),
        pg.texts(scope for _, scope, _ in rows),
        pg.uuids(row.id for *_, row in rows),
        pg.texts(row.action for *_, row in rows),
        pg.texts(row.noun for *_, row in rows),
        pg.texts(row.noun_id for *_, row in rows),
        pg.texts(row.correlation for *_, row in rows),
        pg.texts(row.actor for *_, row in rows),
        pg.texts(row.digest for *_, row in rows),
        pg.texts(row.note for *_, row in rows),
    ]


class Report(NamedTuple):
    """What a flush says: the greatest seq after it, and a reply for each call."""

    last_seq: int
    replies: list[Reply]


def report_of(calls: Sequence[Call], rows: Sequence[Row], most_events: int) -> Report:
    """Return what the rows of a flush mean for its calls."""
    found = by_number(rows)
    [first] = found.pop(0)
    reading = _Reading(found, micros_of(first[_AT]), first[_SEQ], most_events)
    replies = list(reading.replies(calls))
    return Report(reading.last_seq, replies)


class _Reading:
    """Goes over the calls in their order, as the events got their numbers."""

    def __init__(self, found: dict[int, list[Row]], now: int, last_seq: int, most_events: int) -> None:
        self._found = found
        self._now = now
        self._most_events = most_events
        self.last_seq = last_seq

    def replies(self, calls: Sequence[Call]) -> Iterator[Reply]:
        number = 1
        for call in calls:
            found = [self._found.get(number + index) for index in range(len(call))]
            number += len(call)
            try:
                yield self._reply(call, found)
            except PauseMeshError as error:
                yield error

    def _reply(self, call: Call, found: list[list[Row] | None]) -> Reply:
        reported = [rows for rows in found if rows is not None]
        if not any(rows[0][1] for rows in reported):
            return self._stored(call, found)
        return self._earlier(call, reported) or self._refusal(call, reported)

    def _stored(self, call: Call, found: list[list[Row] | None]) -> Appended:
        """Return the outcome of a call that is committed now."""
        before = self.last_seq
        firsts = [before + 1 + sum(len(write.events) for write in call[:index]) for index in range(len(call))]
        self.last_seq += sum(len(write.events) for write in call)
        streams = [
            None if rows is None else self._stored_stream(write, rows, first_seq)
            for write, rows, first_seq in zip(call, found, firsts, strict=True)
        ]
        return Appended(at=from_micros(self._now), last_seq=self.last_seq, replayed=False, streams=tuple(streams))

    def _stored_stream(self, write: Write, rows: list[Row], first_seq: int) -> Stream | None:
        """Return a stream as its write, whose events are numbered from ``first_seq``, leaves it."""
        before, events = _head_in(write, rows), _events_in(write, rows)
        after = _head_after(write, before, self._now)
        if after is None:
            return None
        new = [
            EventRow(
                first_seq + index,
                write.scope,
                write.stream,
                write.expected_version + 1 + index,
                event.id.bytes,
                event.type,
                self._now,
                event.data,
            )
            for index, event in enumerate(write.events)
        ]
        return whole_stream(after, events + new, self._most_events)

    def _earlier(self, call: Call, reported: list[list[Row]]) -> Appended | None:
        """Return the first outcome, where each write that has events finds its own ones stored."""
        marks = [rows[0][_EARLIER] for write, rows in zip(call, reported, strict=True) if write.events]
        if not marks or any(at is None or seq is None for at, seq in marks):
            return None
        return Appended(
            at=from_micros(micros_of(marks[0][0])),
            last_seq=max(seq for _, seq in marks),
            replayed=True,
            streams=self._histories(call, reported),
        )

    def _refusal(self, call: Call, reported: list[list[Row]]) -> Refused:
        numbers = [rows[0][1] for rows in reported]
        if not any(number in _REASONS for number in numbers):
            if next(number for number in numbers if number) == _TOO_LONG:
                raise StreamTooLong(limit=self._most_events)
            raise InvalidRequest("The kind and the correlation of a stream never change.")
        return Refused(
            at=from_micros(self._now),
            reasons=tuple([_REASONS.get(number, Reason.SIBLING) for number in numbers]),
            expected=tuple([write.expected_version for write in call]),
            actual=tuple([rows[0][2] or 0 for rows in reported]),
            streams=self._histories(call, reported),
        )

    def _histories(self, call: Call, reported: list[list[Row]]) -> tuple[Stream | None, ...]:
        return tuple([self._history(write, rows) for write, rows in zip(call, reported, strict=True)])

    def _history(self, write: Write, rows: list[Row]) -> Stream | None:
        head = _head_in(write, rows) if write.history else None
        return None if head is None else whole_stream(head, _events_in(write, rows), self._most_events)


def _head_in(write: Write, rows: list[Row]) -> HeadRow | None:
    return head_of(write.scope, write.stream, rows[0][2:_AFTER_HEAD])


def _events_in(write: Write, rows: list[Row]) -> list[EventRow]:
    columns = [row[_EVENT] for row in rows]
    return [event_of(write.scope, write.stream, one) for one in columns if one[0] is not None]


def _head_after(write: Write, before: HeadRow | None, now: int) -> HeadRow | None:
    if write.head is not None:
        return created_head(write, write.head, now) if before is None else changed_head(before, write, write.head, now)
    return before._replace(done_at=now) if write.finish and before is not None else before
