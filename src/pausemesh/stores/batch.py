"""What becomes of the writes of one call: judged whole, before any of them is stored.

Pure: the stores look the facts up and do the writing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from pausemesh.core.errors import InvalidRequest, StreamTooLong
from pausemesh.records import Appended, Due, Reason, Refused, Restoring, Stream, Write
from pausemesh.stores.rows import HeadRow, from_micros, stream_of, to_micros


class EventMark(NamedTuple):
    """Which event is stored at a version, without its content."""

    seq: int
    id: bytes
    at: int


class Marks(Protocol):
    """Which events are stored, as it is in the step that writes."""

    def find_event(self, scope: str, stream: str, version: int) -> EventMark | None:
        """Return the mark of one event."""
        ...


class Facts(Marks, Protocol):
    """What judging a call may have to look up, as it is in the step that writes."""

    def find_head(self, scope: str, stream: str) -> HeadRow | None:
        """Return the head of a stream."""
        ...

    def find_beat(self, scope: str, stream: str) -> int | None:
        """Return the last beat of a stream in microseconds, None where it never beat."""
        ...

    def find_stream(self, head: HeadRow) -> Stream:
        """Return a stream with all its events."""
        ...


class Cleared(NamedTuple):
    """Nothing speaks against the writes; ``heads`` are those they build on, one a write."""

    heads: tuple[HeadRow | None, ...]


def judge(writes: Sequence[Write], facts: Facts, now: int, most_events: int) -> Cleared | Appended | Refused:
    """Decide about the writes of one call.

    Args:
        writes: well formed ones.
        facts: what is stored now.
        now: the store's clock in microseconds.
        most_events: how many events a stream may hold.

    Returns:
        Cleared: store them all; Appended: the call was committed earlier; Refused: store none.

    Raises:
        StreamTooLong: a stream would hold more events than it may.
        InvalidRequest: a write would change its stream's kind or correlation.
    """
    heads = tuple([facts.find_head(write.scope, write.stream) for write in writes])
    earlier = _committed_earlier(writes, heads, facts)
    if earlier is not None:
        return earlier
    reasons = tuple([reason_against(write, head, facts, now) for write, head in zip(writes, heads, strict=True)])
    if any(reasons):
        return _refusal(writes, heads, reasons, facts, now)
    for write, head in zip(writes, heads, strict=True):
        _check_stream(write, head, most_events)
    return Cleared(heads)


def reason_against(write: Write, head: HeadRow | None, facts: Facts, now: int) -> Reason | None:
    """Return the first reason, in the order of ``Reason``, why a write cannot be stored."""
    if write.token_hash is not None and (head is None or head.token_hash != write.token_hash):
        return Reason.TOKEN
    if (0 if head is None else head.version) != write.expected_version:
        return Reason.VERSION
    if write.due is not Due.ANY:
        has_passed = head is not None and head.due_at is not None and head.due_at <= now
        if has_passed is not (write.due is Due.PASSED):
            return Reason.DUE_PASSED if has_passed else Reason.DUE_AHEAD
    if write.fence is not None and not _holds(write.fence, head, now):
        return Reason.FENCE
    if write.silent_since is not None and not _is_silent(write.silent_since, head, facts):
        return Reason.NOT_SILENT
    return None


def is_restorable(restoring: Restoring, head: HeadRow | None, marks: Marks) -> bool:
    """Tell whether a head may be written anew: it is what was seen, and the stream's events end at its version."""
    wanted = restoring.head
    if (None if head is None else stream_of(head)) != restoring.seen:
        return False
    last, next_one = (
        marks.find_event(wanted.scope, wanted.stream, version) for version in (wanted.version, wanted.version + 1)
    )
    return last is not None and next_one is None


def histories(writes: Sequence[Write], heads: Sequence[HeadRow | None], facts: Facts) -> tuple[Stream | None, ...]:
    """Return the streams that were asked for, one entry a write; ``heads`` are as they are now."""
    return tuple(
        [
            facts.find_stream(head) if write.history and head is not None else None
            for write, head in zip(writes, heads, strict=True)
        ]
    )


def _holds(fence: int, head: HeadRow | None, now: int) -> bool:
    return head is not None and head.fence == fence and head.is_held(now)


def _is_silent(since: datetime, head: HeadRow | None, facts: Facts) -> bool:
    if head is None:
        return False
    beat = facts.find_beat(head.scope, head.stream)
    return (head.created_at if beat is None else beat) < to_micros(since)


def _committed_earlier(writes: Sequence[Write], heads: Sequence[HeadRow | None], facts: Facts) -> Appended | None:
    """Return the first outcome where each write that has events finds its own ones stored."""
    firsts: list[EventMark] = []
    last_seq = 0
    for write, head in zip(writes, heads, strict=True):
        if not write.events:
            continue
        if head is None or head.version <= write.expected_version:
            return None
        first = _own_mark(write, 0, facts)
        last = _own_mark(write, len(write.events) - 1, facts)
        if first is None or last is None:
            return None
        firsts.append(first)
        last_seq = max(last_seq, last.seq)
    if not firsts:
        return None
    streams = histories(writes, heads, facts)
    return Appended(at=from_micros(firsts[0].at), last_seq=last_seq, replayed=True, streams=streams)


def _own_mark(write: Write, index: int, facts: Facts) -> EventMark | None:
    mark = facts.find_event(write.scope, write.stream, write.expected_version + 1 + index)
    own = write.events[index].id.bytes
    return mark if mark is not None and mark.id == own else None


def _refusal(
    writes: Sequence[Write],
    heads: Sequence[HeadRow | None],
    reasons: Sequence[Reason | None],
    facts: Facts,
    now: int,
) -> Refused:
    return Refused(
        at=from_micros(now),
        reasons=tuple([reason or Reason.SIBLING for reason in reasons]),
        expected=tuple([write.expected_version for write in writes]),
        actual=tuple([0 if head is None else head.version for head in heads]),
        streams=histories(writes, heads, facts),
    )


def _check_stream(write: Write, head: HeadRow | None, most_events: int) -> None:
    if write.expected_version + len(write.events) > most_events:
        raise StreamTooLong(limit=most_events)
    if head is None or write.head is None:
        return
    if (write.head.kind, write.head.correlation) != (head.kind, head.correlation):
        raise InvalidRequest("The kind and the correlation of a stream never change.")
