"""Streams in this process's memory: for tests, and for hosts that may forget."""

import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import ForkedMesh, OutcomeUnknown, StoreClosed
from pausemesh.ports import Clock
from pausemesh.records import (
    Appended,
    CrashPoint,
    Examined,
    Held,
    Lease,
    Recorded,
    RecordedAudit,
    Refused,
    Restoring,
    Stream,
    Write,
)
from pausemesh.stores.batch import Cleared, histories, is_restorable, judge
from pausemesh.stores.lookups import (
    check_cursor,
    check_held,
    check_lease,
    check_limit,
    check_list_of_names,
    check_name,
    check_names,
    check_position,
    check_refs,
    check_seq,
    check_text,
)
from pausemesh.stores.memory_tables import MemoryTables
from pausemesh.stores.parameters import check_clock, check_fault, check_max_events
from pausemesh.stores.rows import (
    MICROSECOND,
    HeadRow,
    audit_position,
    from_micros,
    open_position,
    recorded,
    recorded_audit,
    restored_head,
    stream_of,
    to_micros,
)
from pausemesh.stores.wakeups import Wakeups
from pausemesh.stores.writes import check_restorings, check_writes


class MemoryEventStore:
    """An event store that keeps everything in memory, for one process and for as long as it runs.

    Args:
        clock: the store's clock, which stamps events and decides deadlines and leases.
        max_events_per_stream: how many events a stream may hold.
        fault: called at the named points; what it raises is treated as a failure there.

    Raises:
        InvalidRequest: one is none of these.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        max_events_per_stream: int = limits.EVENTS_PER_STREAM,
        fault: Callable[[CrashPoint], None] | None = None,
    ) -> None:
        check_clock(clock)
        check_max_events(max_events_per_stream)
        check_fault(fault)
        self._clock = clock
        self._most_events = max_events_per_stream
        self._fault = fault
        self._tables = MemoryTables(max_events_per_stream)
        self._wakeups = Wakeups()
        self._locked = _LockedTables(self._tables)
        self._pid = os.getpid()
        self._closed = False

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes, or none."""
        with self._use() as tables:
            check_writes(writes)
            self._reach(CrashPoint.BEFORE_BEGIN)
            now = self._now()
            verdict = judge(writes, tables, now, self._most_events)
            if not isinstance(verdict, Cleared):
                return verdict
            self._reach(CrashPoint.BEFORE_APPEND)
            change = tables.prepare(writes, verdict.heads, now)
            self._reach(CrashPoint.AFTER_APPEND_BEFORE_COMMIT)
            tables.apply(change)
            last_seq = tables.find_last_seq()
            heads = [tables.find_head(write.scope, write.stream) for write in writes]
            outcome = Appended(
                at=from_micros(now),
                last_seq=last_seq,
                replayed=False,
                streams=histories(writes, heads, tables),
            )
        self._wakeups.announce(last_seq)
        self._reach_after_commit()
        return outcome

    async def load(self, scope: str, stream: str) -> Stream | None:
        """Return the stream with all its events."""
        with self._use() as tables:
            check_names(scope, stream)
            head = tables.find_head(scope, stream)
            return None if head is None else tables.find_stream(head)

    async def load_many(self, refs: Sequence[tuple[str, str]]) -> Sequence[Stream | None]:
        """Return the streams named by (scope, stream), in that order."""
        return [await self.load(scope, stream) for scope, stream in check_refs(refs)]

    async def list_by_correlation(
        self, scope: str, correlation: str, after: str = "", limit: int = 50
    ) -> Sequence[Stream]:
        """Return streams without events, ordered by stream name, those past ``after``."""
        with self._use() as tables:
            check_names(scope, correlation)
            check_text(after)
            check_limit(limit)
            heads = tables.heads_of_correlation(scope, correlation, after, limit)
            return [stream_of(head) for head in heads]

    async def list_by_status(
        self,
        scope: str,
        kind: str,
        status: str,
        after: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> Sequence[Stream]:
        """Return open streams without events, ordered by (created_at, stream), past ``after``."""
        with self._use() as tables:
            check_names(scope, kind, status)
            check_cursor(after, str)
            check_limit(limit)
            heads = tables.open_heads(scope, kind, status, open_position(after), limit)
            return [stream_of(head) for head in heads]

    async def list_due(self, limit: int = 100) -> Sequence[Stream]:
        """Return streams of all scopes whose deadline has passed, longest overdue first."""
        with self._use() as tables:
            check_limit(limit)
            return [stream_of(head) for head in tables.due_heads(self._now(), limit)]

    async def list_audit(
        self, scope: str, after: tuple[datetime, UUID] | None = None, limit: int = 50
    ) -> Sequence[RecordedAudit]:
        """Return audit rows ordered by (at, id), those past ``after``."""
        with self._use() as tables:
            check_names(scope)
            check_cursor(after, UUID)
            check_limit(limit)
            rows = tables.audit_rows(scope, audit_position(after), limit)
            return [recorded_audit(row) for row in rows]

    async def feed(self, after_seq: int, scope: str | None = None, limit: int = 1000) -> Sequence[Recorded]:
        """Return events past ``after_seq`` in commit order."""
        with self._use() as tables:
            check_seq(after_seq)
            if scope is not None:
                check_names(scope)
            check_limit(limit)
            return [recorded(row) for row in tables.log_of_scope(after_seq, scope, limit)]

    async def feed_of_correlation(
        self, scope: str, correlation: str, after_seq: int, limit: int = 1000
    ) -> Sequence[Recorded]:
        """Return the same of the streams of one correlation."""
        with self._use() as tables:
            check_seq(after_seq)
            check_names(scope, correlation)
            check_limit(limit)
            rows = tables.log_of_correlation(scope, correlation, after_seq, limit)
            return [recorded(row) for row in rows]

    async def check_ready(self) -> None:
        """Pass until it is closed.

        Raises:
            StoreClosed: it is.
        """
        with self._use():
            pass

    async def last_seq(self) -> int:
        """Return the greatest seq, 0 where there is none."""
        with self._use() as tables:
            return tables.find_last_seq()

    def wakeups(self) -> AsyncIterator[int]:
        """Yield the greatest seq, first at once and then whenever it has grown."""
        with self._use():
            return self._wakeups.listen(self.last_seq)

    async def beat(self, scope: str, streams: Sequence[str]) -> None:
        """Set the last beat of the streams to the store's clock."""
        with self._use() as tables:
            check_names(scope)
            check_list_of_names(streams)
            tables.beat(scope, streams, self._now())

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream that is not open, not done, and not held."""
        with self._use() as tables:
            check_names(scope, stream)
            check_name(worker, "/worker")
            check_lease(lease)
            now = self._now()
            head = tables.find_head(scope, stream)
            if head is None or head.open or head.done_at is not None:
                return None
            if head.is_held(now) and head.lease_until is not None:
                return Held(at=from_micros(now), until=from_micros(head.lease_until), fence=head.fence)
            return self._hand_over(head, worker, now, lease)

    async def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim of the stream of this queue that has been ready longest."""
        with self._use() as tables:
            check_names(scope, queue)
            check_name(worker, "/worker")
            check_lease(lease)
            now = self._now()
            head = tables.next_in_queue(scope, queue, now)
            return None if head is None else self._hand_over(head, worker, now, lease)

    async def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on."""
        with self._use() as tables:
            check_held(held)
            check_lease(lease)
            now = self._now()
            head = self._find_held(held, now)
            if head is None:
                return None
            renewed = head._replace(lease_until=now + lease // MICROSECOND)
            tables.put_head(renewed)
            return _lease_of(renewed)

    async def release(self, held: Lease) -> bool:
        """Give a live lease back."""
        with self._use() as tables:
            check_held(held)
            head = self._find_held(held, self._now())
            if head is None:
                return False
            tables.put_head(head._replace(holder=None, lease_until=None))
            return True

    async def list_names(self, after: tuple[str, str] | None = None, limit: int = 50) -> Sequence[tuple[str, str]]:
        """Return (scope, stream) of all streams, by these, those past ``after``."""
        with self._use() as tables:
            check_position(after)
            check_limit(limit)
            return tables.names(after or ("", ""), limit)

    async def examine(self, refs: Sequence[tuple[str, str]]) -> Sequence[Examined]:
        """Return what is stored of the streams named by (scope, stream), in that order."""
        with self._use() as tables:
            return [tables.examine(*ref) for ref in check_refs(refs)]

    async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
        """Write heads anew, each only where what is stored is exactly what was seen."""
        with self._use() as tables:
            check_restorings(restorings)
            return [self._restore(restoring, tables) for restoring in restorings]

    async def check_integrity(self, *, quick: bool = False) -> Sequence[str]:  # noqa: ARG002 - memory has no medium
        """Return nothing."""
        with self._use():
            return []

    async def close(self) -> None:
        """End what listens and refuse what comes later."""
        self._refuse_fork()
        self._closed = True
        self._wakeups.close()

    def _use(self) -> "_LockedTables":
        self._refuse_fork()
        if self._closed:
            raise StoreClosed
        return self._locked

    def _refuse_fork(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedMesh

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _reach(self, point: CrashPoint) -> None:
        if self._fault is not None:
            self._fault(point)

    def _reach_after_commit(self) -> None:
        try:
            self._reach(CrashPoint.AFTER_COMMIT_BEFORE_REPLY)
        except Exception as error:
            raise OutcomeUnknown from error

    def _find_held(self, held: Lease, now: int) -> HeadRow | None:
        head = self._tables.find_head(held.scope, held.stream)
        return head if head is not None and head.fence == held.fence and head.is_held(now) else None

    def _restore(self, restoring: Restoring, tables: MemoryTables) -> bool:
        head = restoring.head
        if not is_restorable(restoring, tables.find_head(head.scope, head.stream), tables):
            return False
        tables.put_head(restored_head(head))
        return True

    def _hand_over(self, head: HeadRow, worker: str, now: int, lease: timedelta) -> Lease:
        taken = head._replace(
            holder=worker,
            fence=head.fence + 1,
            lease_until=now + lease // MICROSECOND,
            attempts=head.attempts + 1,
        )
        self._tables.put_head(taken)
        return _lease_of(taken)


class _LockedTables:
    """The tables, for one thread at a time; made once, since every call uses them."""

    __slots__ = ("_lock", "_tables")

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = threading.Lock()

    def __enter__(self) -> MemoryTables:
        self._lock.acquire()
        return self._tables

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _lease_of(head: HeadRow) -> Lease:
    assert head.holder is not None
    assert head.lease_until is not None
    return Lease(
        scope=head.scope,
        stream=head.stream,
        worker=head.holder,
        fence=head.fence,
        until=from_micros(head.lease_until),
        attempts=head.attempts,
    )
