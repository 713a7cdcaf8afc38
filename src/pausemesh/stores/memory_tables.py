"""The tables of the memory store: what SQL does for the others, with dictionaries."""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.records import Examined, Stream, Write
from pausemesh.stores.batch import EventMark
from pausemesh.stores.rows import (
    AuditLogRow,
    EventRow,
    HeadRow,
    audit_row,
    changed_head,
    created_head,
    recorded,
    stream_of,
    whole_stream,
)

_Key = tuple[str, str]


class Change(NamedTuple):
    """The rows of one call, ready to be put into the tables all at once."""

    heads: list[HeadRow]
    events: list[EventRow]
    audit: list[AuditLogRow]


class MemoryTables:
    """Heads, events, beats and audit rows; rows are tuples and are replaced whole."""

    def __init__(self, most_events: int) -> None:
        self._most_events = most_events
        self._heads: dict[_Key, HeadRow] = {}
        self._events: dict[_Key, list[EventRow]] = {}
        self._log: list[EventRow] = []
        self._beats: dict[_Key, int] = {}
        self._audit: dict[str, dict[tuple[int, bytes], AuditLogRow]] = {}

    def find_head(self, scope: str, stream: str) -> HeadRow | None:
        """Return the head of a stream."""
        return self._heads.get((scope, stream))

    def find_event(self, scope: str, stream: str, version: int) -> EventMark | None:
        """Return the mark of one event."""
        events = self._events.get((scope, stream), [])
        if not 1 <= version <= len(events):
            return None
        event = events[version - 1]
        return EventMark(event.seq, event.id, event.at)

    def find_beat(self, scope: str, stream: str) -> int | None:
        """Return the last beat of a stream in microseconds."""
        return self._beats.get((scope, stream))

    def find_stream(self, head: HeadRow) -> Stream:
        """Return a stream with all its events."""
        return whole_stream(head, self._events[head.scope, head.stream], self._most_events)

    def names(self, after: _Key, limit: int) -> list[_Key]:
        """Return the names of streams past one, by these."""
        return heapq.nsmallest(limit, (name for name in self._heads if name > after))

    def examine(self, scope: str, stream: str) -> Examined:
        """Return what is stored of a stream."""
        head = self.find_head(scope, stream)
        events = self._events.get((scope, stream), [])[: limits.EXAMINED_EVENTS]
        return Examined(
            scope=scope,
            stream=stream,
            head=None if head is None else stream_of(head),
            events=tuple([recorded(row) for row in events]),
        )

    def find_last_seq(self) -> int:
        """Return the greatest seq, 0 where there is none."""
        return len(self._log)

    def prepare(self, writes: Sequence[Write], heads: Sequence[HeadRow | None], now: int) -> Change:
        """Return what the writes of one call would put into the tables.

        Raises:
            InvalidRequest: an audit row with the same id was stored at the same time.
        """
        change = Change([], [], [])
        for write, head in zip(writes, heads, strict=True):
            if write.head is None:
                if write.finish and head is not None:
                    change.heads.append(head._replace(done_at=now))
                continue
            if head is None:
                change.heads.append(created_head(write, write.head, now))
            else:
                change.heads.append(changed_head(head, write, write.head, now))
            first_seq = len(self._log) + len(change.events) + 1
            change.events.extend(_event_rows(write, first_seq, now))
            change.audit.extend([audit_row(write.scope, now, row) for row in write.rows])
        if change.audit:
            self._refuse_known(change.audit)
        return change

    def _refuse_known(self, audit: list[AuditLogRow]) -> None:
        if len({(row.scope, row.id) for row in audit}) < len(audit) or any(
            (row.at, row.id) in self._audit.get(row.scope, {}) for row in audit
        ):
            raise InvalidRequest("An audit row with this id is stored already.")

    def apply(self, change: Change) -> None:
        """Put prepared rows into the tables."""
        for head in change.heads:
            self.put_head(head)
        for event in change.events:
            self._events.setdefault((event.scope, event.stream), []).append(event)
        self._log.extend(change.events)
        for row in change.audit:
            self._audit.setdefault(row.scope, {})[row.at, row.id] = row

    def put_head(self, head: HeadRow) -> None:
        """Put a head in place of the one before."""
        self._heads[head.scope, head.stream] = head

    def beat(self, scope: str, streams: Iterable[str], now: int) -> None:
        """Set the last beat of those streams that exist."""
        for stream in streams:
            if (scope, stream) in self._heads:
                self._beats[scope, stream] = now

    def heads_of_correlation(self, scope: str, correlation: str, after: str, limit: int) -> list[HeadRow]:
        """Return the heads of one correlation past a stream's name, by that name."""
        found = (
            head
            for head in self._heads.values()
            if head.scope == scope and head.correlation == correlation and head.stream > after
        )
        return heapq.nsmallest(limit, found, key=lambda head: head.stream)

    def open_heads(self, scope: str, kind: str, status: str, after: tuple[int, str], limit: int) -> list[HeadRow]:
        """Return open heads past a (created_at, stream), by these."""
        found = (
            head
            for head in self._heads.values()
            if head.open
            and (head.scope, head.kind, head.status) == (scope, kind, status)
            and (head.created_at, head.stream) > after
        )
        return heapq.nsmallest(limit, found, key=lambda head: (head.created_at, head.stream))

    def due_heads(self, now: int, limit: int) -> list[HeadRow]:
        """Return the heads whose deadline has passed, longest overdue first."""
        found = (
            (head.due_at, head.scope, head.stream, head)
            for head in self._heads.values()
            if head.due_at is not None and head.due_at <= now
        )
        return [head for *_, head in heapq.nsmallest(limit, found)]

    def next_in_queue(self, scope: str, queue: str, now: int) -> HeadRow | None:
        """Return the head that has been ready longest in a queue."""
        ready = (
            head
            for head in self._heads.values()
            if (head.scope, head.queue) == (scope, queue)
            and not head.open
            and head.done_at is None
            and not head.is_held(now)
        )
        return min(ready, key=lambda head: (head.updated_at, head.stream), default=None)

    def audit_rows(self, scope: str, after: tuple[int, bytes], limit: int) -> list[AuditLogRow]:
        """Return the audit rows of a scope past an (at, id), by these."""
        rows = self._audit.get(scope, {}).items()
        return [row for _, row in heapq.nsmallest(limit, (item for item in rows if item[0] > after))]

    def log_of_scope(self, after_seq: int, scope: str | None, limit: int) -> list[EventRow]:
        """Return events past a seq, of one scope or of all."""
        found = (event for event in self._log_past(after_seq) if scope in {None, event.scope})
        return list(itertools.islice(found, limit))

    def log_of_correlation(self, scope: str, correlation: str, after_seq: int, limit: int) -> list[EventRow]:
        """Return events past a seq, of one correlation's streams."""
        found = (
            event
            for event in self._log_past(after_seq)
            if event.scope == scope and self._heads[scope, event.stream].correlation == correlation
        )
        return list(itertools.islice(found, limit))

    def _log_past(self, after_seq: int) -> Iterator[EventRow]:
        """Iterate events past a seq; an event's seq is its place in the log, counted from 1."""
        return itertools.islice(self._log, max(after_seq, 0), None)


def _event_rows(write: Write, first_seq: int, now: int) -> list[EventRow]:
    return [
        EventRow(
            first_seq + index,
            write.scope,
            write.stream,
            write.expected_version + 1 + index,
            event.id.bytes,
            event.type,
            now,
            event.data,
        )
        for index, event in enumerate(write.events)
    ]
