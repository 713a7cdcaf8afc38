"""Streams in a SQLite file: durable, for any number of processes on one machine."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Self, TypeVar
from uuid import UUID

import apsw

from pausemesh.core import limits
from pausemesh.core.errors import ForkedMesh, StoreClosed, StoreUnavailable
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
from pausemesh.stores.calls import Call, Inbox
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
from pausemesh.stores.parameters import (
    check_clock,
    check_fault,
    check_flag,
    check_max_events,
    check_readers,
    check_seconds,
    plain_path,
)
from pausemesh.stores.rows import audit_position, open_position, to_micros
from pausemesh.stores.sqlite_connection import check_library
from pausemesh.stores.sqlite_file import SqliteFile
from pausemesh.stores.sqlite_poller import SqlitePoller
from pausemesh.stores.sqlite_reader import CALLS_PER_SNAPSHOT, SqliteReader
from pausemesh.stores.sqlite_reads import SqliteReads
from pausemesh.stores.sqlite_writer import SqliteWriter
from pausemesh.stores.sqlite_writes import SqliteWrites
from pausemesh.stores.wakeups import Wakeups
from pausemesh.stores.writes import check_restorings, check_writes

T = TypeVar("T")


class SqliteEventStore:
    """An event store in one SQLite file; ``open`` makes one, ``close`` must end it.

    Any number of event loops, threads and processes may use one file; a child that is forked while a
    store is open can open none: start it with spawn or forkserver, or fork before opening.
    """

    def __init__(
        self,
        path: str,
        clock: Clock,
        *,
        max_events_per_stream: int,
        call_seconds: float,
        readers: int,
        create: bool,
        fault: Callable[[CrashPoint], None] | None,
    ) -> None:
        self._clock = clock
        self._call_seconds = call_seconds
        self._pid = os.getpid()
        self._closed = False
        file = SqliteFile(path, self._start_over)
        self._poller = SqlitePoller(file, self._announce, seconds=call_seconds)
        self._wakeups = Wakeups(self._poller)
        self._reading: Inbox[SqliteReads] = Inbox(StoreUnavailable)
        self._writer = SqliteWriter(
            file,
            clock,
            create=create,
            most_events=max_events_per_stream,
            seconds=call_seconds,
            wakeups=self._wakeups,
            fault=fault,
        )
        self._readers = [
            SqliteReader(file, self._reading, most_events=max_events_per_stream, seconds=call_seconds)
            for _ in range(readers)
        ]

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        clock: Clock,
        *,
        max_events_per_stream: int = limits.EVENTS_PER_STREAM,
        call_seconds: float = limits.CALL_SECONDS,
        readers: int = 2,
        create: bool = True,
        fault: Callable[[CrashPoint], None] | None = None,
    ) -> Self:
        """Open a file.

        Args:
            path: of the file, on a local disk.
            clock: the store's clock, which stamps events and decides deadlines and leases.
            max_events_per_stream: how many events a stream may hold.
            call_seconds: how long a call waits for other processes before it gives up.
            readers: how many threads read.
            create: make the file with its folder and its schema where there is none, and bring an older schema up to
                date; otherwise it must be there as this release makes it.
            fault: called at the named points; what it raises is treated as a failure there.

        Raises:
            InvalidRequest: a parameter is none of these.
            ForkedMesh: this process was forked while a store in a file was open.
            StoreUnsafe: the library is too old, or the file cannot be made durable.
            StoreUnavailable: it cannot be opened.
            StoreCorrupt: it is damaged, or no SQLite file.
            SchemaError: its schema is not the one of this release.
        """
        check_clock(clock)
        check_max_events(max_events_per_stream)
        check_seconds(call_seconds)
        check_readers(readers)
        check_flag(create)
        check_fault(fault)
        check_library(apsw.sqlite_lib_version())
        store = cls(
            plain_path(path),
            clock,
            max_events_per_stream=max_events_per_stream,
            call_seconds=call_seconds,
            readers=readers,
            create=create,
            fault=fault,
        )
        await store._start()
        return store

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, or none."""
        self._refuse_fork()
        check_writes(writes)
        # Done twice, a call with events finds that it was committed; a finish without any would find itself refused.
        repeatable = any(write.events for write in writes) or not any(write.finish for write in writes)
        return await self._write(lambda step: step.append(writes), weight=len(writes), repeatable=repeatable)

    async def load(self, scope: str, stream: str) -> Stream | None:
        """Return the stream with all its events."""
        check_names(scope, stream)
        return await self._read(lambda step: step.load(scope, stream))

    async def load_many(self, refs: Sequence[tuple[str, str]]) -> Sequence[Stream | None]:
        """Return the streams named by (scope, stream), in that order."""
        wanted = check_refs(refs)
        return await self._read(lambda step: [step.load(*ref) for ref in wanted])

    async def list_by_correlation(
        self, scope: str, correlation: str, after: str = "", limit: int = 50
    ) -> Sequence[Stream]:
        """Return streams without events, ordered by stream name, those past ``after``."""
        check_names(scope, correlation)
        check_text(after)
        check_limit(limit)
        return await self._read(lambda step: step.list_by_correlation(scope, correlation, after, limit))

    async def list_by_status(
        self,
        scope: str,
        kind: str,
        status: str,
        after: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> Sequence[Stream]:
        """Return open streams without events, ordered by (created_at, stream), past ``after``."""
        check_names(scope, kind, status)
        check_cursor(after, str)
        check_limit(limit)
        position = open_position(after)
        return await self._read(lambda step: step.list_by_status(scope, kind, status, position, limit))

    async def list_due(self, limit: int = 100) -> Sequence[Stream]:
        """Return streams of all scopes whose deadline has passed, longest overdue first."""
        check_limit(limit)
        clock = self._clock
        return await self._read(lambda step: step.list_due(to_micros(clock.now()), limit))

    async def list_audit(
        self, scope: str, after: tuple[datetime, UUID] | None = None, limit: int = 50
    ) -> Sequence[RecordedAudit]:
        """Return audit rows ordered by (at, id), those past ``after``."""
        check_names(scope)
        check_cursor(after, UUID)
        check_limit(limit)
        position = audit_position(after)
        return await self._read(lambda step: step.list_audit(scope, position, limit))

    async def feed(self, after_seq: int, scope: str | None = None, limit: int = 1000) -> Sequence[Recorded]:
        """Return events past ``after_seq`` in commit order."""
        check_seq(after_seq)
        if scope is not None:
            check_names(scope)
        check_limit(limit)
        return await self._read(lambda step: step.feed(after_seq, scope, limit))

    async def feed_of_correlation(
        self, scope: str, correlation: str, after_seq: int, limit: int = 1000
    ) -> Sequence[Recorded]:
        """Return the same of the streams of one correlation."""
        check_seq(after_seq)
        check_names(scope, correlation)
        check_limit(limit)
        return await self._read(lambda step: step.feed_of_correlation(scope, correlation, after_seq, limit))

    async def check_ready(self) -> None:
        """Pass where the file is in its place with exactly the schema of this release, and can be read.

        Raises:
            StoreError: it is not.
        """
        if self._closed:
            raise StoreClosed
        await self._read(SqliteReads.check_schema)

    async def last_seq(self) -> int:
        """Return the greatest seq that is committed, 0 where there is none."""
        return await self._read(SqliteReads.find_last_seq)

    def wakeups(self) -> AsyncIterator[int]:
        """Yield the greatest seq, first at once and then whenever it has grown."""
        self._refuse_fork()
        if self._closed:
            raise StoreClosed
        return self._wakeups.listen(self.last_seq)

    async def beat(self, scope: str, streams: Sequence[str]) -> None:
        """Set the last beat of the streams to the store's clock."""
        check_names(scope)
        check_list_of_names(streams)
        beating = tuple(streams)
        weight = min(len(beating), limits.WRITES_PER_FLUSH)
        await self._write(lambda step: step.beat(scope, beating), weight=weight)

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream that is not open, not done, and not held."""
        check_names(scope, stream)
        check_name(worker, "/worker")
        check_lease(lease)
        return await self._write(lambda step: step.take(scope, stream, worker, lease), repeatable=False)

    async def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim of the stream of this queue that has been ready longest."""
        check_names(scope, queue)
        check_name(worker, "/worker")
        check_lease(lease)
        return await self._write(lambda step: step.take_next(scope, queue, worker, lease), repeatable=False)

    async def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on."""
        check_held(held)
        check_lease(lease)
        return await self._write(lambda step: step.renew(held, lease))

    async def release(self, held: Lease) -> bool:
        """Give a live lease back."""
        check_held(held)
        return await self._write(lambda step: step.release(held), repeatable=False)

    async def list_names(self, after: tuple[str, str] | None = None, limit: int = 50) -> Sequence[tuple[str, str]]:
        """Return (scope, stream) of all that is stored, by these, those past ``after``."""
        check_position(after)
        check_limit(limit)
        return await self._read(lambda step: step.list_names(after or ("", ""), limit))

    async def examine(self, refs: Sequence[tuple[str, str]]) -> Sequence[Examined]:
        """Return what is stored of the streams named by (scope, stream), in that order, all in one snapshot."""
        wanted = check_refs(refs)
        return await self._read(lambda step: [step.examine(*ref) for ref in wanted])

    async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
        """Write heads anew in one commit, each only where what is stored is exactly what was seen."""
        check_restorings(restorings)
        return await self._write(lambda step: step.restore(restorings), weight=len(restorings), repeatable=False)

    async def check_integrity(self, *, quick: bool = False) -> Sequence[str]:
        """Return what SQLite says of its file, and whether an event's number is missing."""
        self._refuse_fork()
        work: Call[SqliteReads, list[str]] = Call(
            lambda step: step.check_integrity(quick=quick), seconds=limits.INTEGRITY_SECONDS, weight=CALLS_PER_SNAPSHOT
        )
        return await self._reading.ask(work)

    async def close(self) -> None:
        """Finish what was accepted, then let go of the file: the readers first, the writer last."""
        self._refuse_fork()
        self._closed = True
        self._wakeups.close()
        self._reading.close()
        await self._poller.close()
        for reader in self._readers:
            await reader.background.ended()
        self._writer.inbox.close()
        await self._writer.background.ended()

    async def _start(self) -> None:
        self._writer.background.start()
        try:
            await asyncio.wrap_future(self._writer.opened)
        except BaseException as error:
            self._writer.inbox.close()
            if isinstance(error, Exception):
                await self._writer.background.ended()
            raise
        for reader in self._readers:
            reader.background.start()

    async def _read(self, work: Callable[[SqliteReads], T]) -> T:
        self._refuse_fork()
        return await self._reading.ask(Call(work, seconds=self._call_seconds))

    async def _write(self, work: Callable[[SqliteWrites], T], *, weight: int = 1, repeatable: bool = True) -> T:
        self._refuse_fork()
        if self._closed:
            raise StoreClosed
        call: Call[SqliteWrites, T] = Call(work, seconds=self._call_seconds, weight=weight, repeatable=repeatable)
        return await self._writer.inbox.ask(call)

    def _refuse_fork(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedMesh

    def _announce(self, seq: int) -> None:
        self._wakeups.announce(seq)

    def _start_over(self) -> None:
        self._wakeups.start_over()
