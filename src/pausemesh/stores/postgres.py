"""Streams in PostgreSQL: durable, for any number of processes and replicas."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import ForkedMesh, InvalidRequest, StoreClosed
from pausemesh.core.issue import Issue
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
from pausemesh.stores import postgres_values as pg
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
)
from pausemesh.stores.postgres_flush import Terms
from pausemesh.stores.postgres_flusher import PostgresFlusher
from pausemesh.stores.postgres_listener import PostgresListener
from pausemesh.stores.postgres_reader import Lookup, PostgresReader, Query, ReadQueue, Visit
from pausemesh.stores.postgres_readiness import check_ready, check_schema
from pausemesh.stores.postgres_rows import Row, found_audit_row, found_event, found_head
from pausemesh.stores.postgres_schema_name import check_schema_name
from pausemesh.stores.postgres_session import Pool, PostgresSession
from pausemesh.stores.postgres_statement import statement_in
from pausemesh.stores.postgres_values import Parameter
from pausemesh.stores.postgres_works import Append, Beats, Change, ClaimChange, Restore, Work
from pausemesh.stores.rows import audit_position, open_position, recorded, recorded_audit, stream_of, to_micros
from pausemesh.stores.writes import check_restorings, check_writes

_PATIENCE: Final = 0.8
"""Which part of a call's time a flush waits for the order lock."""

_NO_ID: Final = UUID(int=0)


class PostgresEventStore:
    """An event store in a schema of a PostgreSQL database that ``migrate_postgres_event_store`` has made.

    Constructing it connects to nothing and changes nothing. It is used on the event loop of its pool, takes ``readers``
    and two more connections out of it and keeps them until ``close``, which leaves the pool open. Any number of stores
    may use one database; the database's clock decides for all of them.

    Args:
        pool: of the host, with a connection for each reader, one to write, and one to listen: four by default.
        schema: where the tables are.
        max_events_per_stream: how many events a stream may hold.
        clock: of a test, in place of the database's; all stores on a schema must have the same.
        call_seconds: how long a call waits to be sent, and again for its outcome.
        readers: how many connections read.
        listen: the database wakes this store when another one commits; False: it is asked ten times a second while
            somebody listens, as a pooler in between makes necessary.
        prepare: statements are prepared and settings made on the connections that are kept; False: neither, for a
            pooler that changes them with every transaction.
        fault: called at the named points; what it raises is treated as a failure there.

    Raises:
        InvalidRequest: a parameter is none of these.
    """

    def __init__(
        self,
        pool: Pool,
        schema: str = "pausemesh",
        max_events_per_stream: int = limits.EVENTS_PER_STREAM,
        *,
        clock: Clock | None = None,
        call_seconds: float = limits.CALL_SECONDS,
        readers: int = 2,
        listen: bool = True,
        prepare: bool = True,
        fault: Callable[[CrashPoint], None] | None = None,
    ) -> None:
        check_schema_name(schema)
        check_max_events(max_events_per_stream)
        check_seconds(call_seconds)
        check_readers(readers)
        check_fault(fault)
        if clock is not None:
            check_clock(clock)
        for flag in (listen, prepare):
            check_flag(flag)
        _check_room(pool, 1 + readers + listen)
        self._pool = pool
        self._schema = schema
        self._clock = clock
        self._call_seconds = call_seconds
        self._prepare = prepare
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False
        self._reading = ReadQueue()
        self._listener = PostgresListener(
            pool, find_channel=self._find_channel, find_last_seq=self._find_last_seq, listen=listen
        )
        terms = Terms(schema, max_events_per_stream, f"{max(1, int(call_seconds * _PATIENCE * 1000))}ms")
        self._flusher = PostgresFlusher(
            self._connect,
            terms,
            seconds=call_seconds,
            clock=clock,
            wakeups=self._listener.wakeups,
            fault=fault,
        )
        list_streams = statement_in(schema, "list_streams")
        self._readers = [
            PostgresReader(self._reading, self._connect, list_streams, most_events=max_events_per_stream)
            for _ in range(readers)
        ]

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, or none."""
        self._check_usable()
        check_writes(writes)
        outcome: Appended | Refused = await self._write(Append(writes))
        return outcome

    async def load(self, scope: str, stream: str) -> Stream | None:
        """Return the stream with all its events."""
        check_names(scope, stream)
        found: list[Stream | None] = await self._read(Lookup(((scope, stream),)))
        return found[0]

    async def load_many(self, refs: Sequence[tuple[str, str]]) -> Sequence[Stream | None]:
        """Return the streams named by (scope, stream), in that order."""
        wanted = check_refs(refs)
        found: list[Stream | None] = await self._read(Lookup(wanted)) if wanted else []
        return found

    async def list_by_correlation(
        self, scope: str, correlation: str, after: str = "", limit: int = 50
    ) -> Sequence[Stream]:
        """Return streams without events, ordered by stream name, those past ``after``."""
        check_names(scope, correlation)
        check_text(after)
        check_limit(limit)
        parameters = [pg.text(scope), pg.text(correlation), pg.text(after), pg.bigint(limit)]
        return await self._list_heads("list_by_correlation", parameters)

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
        created_at, stream = open_position(after)
        position = [pg.timestamptz(created_at), pg.text(stream)]
        parameters = [pg.text(scope), pg.text(kind), pg.text(status), *position, pg.bigint(limit)]
        return await self._list_heads("list_open_by_status", parameters)

    async def list_due(self, limit: int = 100) -> Sequence[Stream]:
        """Return streams of all scopes whose deadline has passed, longest overdue first."""
        check_limit(limit)
        now = None if self._clock is None else to_micros(self._clock.now())
        return await self._list_heads("list_due", [pg.timestamptz(now), pg.bigint(limit)])

    async def list_audit(
        self, scope: str, after: tuple[datetime, UUID] | None = None, limit: int = 50
    ) -> Sequence[RecordedAudit]:
        """Return audit rows ordered by (at, id), those past ``after``."""
        check_names(scope)
        check_cursor(after, UUID)
        check_limit(limit)
        at, _ = audit_position(after)
        position = [pg.timestamptz(at), pg.uuid(_NO_ID if after is None else after[1])]
        rows = await self._query("list_audit_rows", [pg.text(scope), *position, pg.bigint(limit)])
        return [recorded_audit(found_audit_row(row)) for row in rows]

    async def feed(self, after_seq: int, scope: str | None = None, limit: int = 1000) -> Sequence[Recorded]:
        """Return events past ``after_seq`` in commit order."""
        check_seq(after_seq)
        if scope is not None:
            check_names(scope)
        check_limit(limit)
        if scope is None:
            return await self._list_events("list_events_after", [pg.bigint(after_seq), pg.bigint(limit)])
        parameters = [pg.bigint(after_seq), pg.text(scope), pg.bigint(limit)]
        return await self._list_events("list_events_of_scope", parameters)

    async def feed_of_correlation(
        self, scope: str, correlation: str, after_seq: int, limit: int = 1000
    ) -> Sequence[Recorded]:
        """Return the same of the streams of one correlation."""
        check_seq(after_seq)
        check_names(scope, correlation)
        check_limit(limit)
        parameters = [pg.text(scope), pg.text(correlation), pg.bigint(after_seq), pg.bigint(limit)]
        return await self._list_events("list_events_of_correlation", parameters)

    async def check_schema(self) -> None:
        """Pass where the schema is exactly that of this release, and say nothing of the server and the role.

        Raises:
            StoreError: it is not.
        """
        await self._check(check_schema)

    async def check_ready(self) -> None:
        """Pass where the schema is exactly that of this release, and the server and the role are fit.

        Raises:
            StoreError: they are not.
        """
        await self._check(check_ready)

    async def last_seq(self) -> int:
        """Return the greatest seq that is committed, 0 where there is none."""
        return await self._find_last_seq()

    def wakeups(self) -> AsyncIterator[int]:
        """Yield the greatest seq, first at once and then whenever it has grown."""
        self._check_usable()
        if self._closed:
            raise StoreClosed
        return self._listener.wakeups.listen(self.last_seq)

    async def beat(self, scope: str, streams: Sequence[str]) -> None:
        """Set the last beat of the streams to the database's clock."""
        check_names(scope)
        check_list_of_names(streams)
        await self._write(Beats(scope, tuple(streams)))

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream that is not open, not done, and not held."""
        check_names(scope, stream)
        check_name(worker, "/worker")
        check_lease(lease)
        change = ClaimChange(change=Change.TAKE, scope=scope, name=stream, worker=worker, lease=lease)
        taken: Lease | Held | None = await self._write(change)
        return taken

    async def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim of the stream of this queue that has been ready longest."""
        check_names(scope, queue)
        check_name(worker, "/worker")
        check_lease(lease)
        change = ClaimChange(change=Change.TAKE_NEXT, scope=scope, name=queue, worker=worker, lease=lease)
        taken: Lease | None = await self._write(change)
        return taken

    async def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on."""
        check_held(held)
        check_lease(lease)
        change = ClaimChange(change=Change.RENEW, scope=held.scope, name=held.stream, fence=held.fence, lease=lease)
        renewed: Lease | None = await self._write(change)
        return renewed

    async def release(self, held: Lease) -> bool:
        """Give a live lease back."""
        check_held(held)
        change = ClaimChange(change=Change.RELEASE, scope=held.scope, name=held.stream, fence=held.fence)
        was_live: bool = await self._write(change)
        return was_live

    async def list_names(self, after: tuple[str, str] | None = None, limit: int = 50) -> Sequence[tuple[str, str]]:
        """Return (scope, stream) of all that is stored, by these, those past ``after``."""
        check_position(after)
        check_limit(limit)
        parameters = [*(pg.text(name) for name in after or ("", "")), pg.bigint(limit)]
        of_both = {
            (scope, stream)
            for name in ("list_names_of_heads", "list_names_of_events")
            for scope, stream in await self._query(name, parameters)
        }
        return sorted(of_both)[:limit]

    async def examine(self, refs: Sequence[tuple[str, str]]) -> Sequence[Examined]:
        """Return what is stored of the streams named by (scope, stream), in that order, all in one snapshot."""
        wanted = check_refs(refs)
        found: list[Examined] = await self._read(Lookup(wanted, is_examined=True)) if wanted else []
        return found

    async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
        """Write heads anew in one commit, each only where what is stored is exactly what was seen."""
        check_restorings(restorings)
        done: list[bool] = await self._write(Restore(restorings))
        return done

    async def check_integrity(self, *, quick: bool = False) -> Sequence[str]:  # noqa: ARG002 - it is quick enough
        """Return whether events are missing: their numbers have no gaps. Its files the server checks by itself."""
        [(events, greatest)] = await self._query("count_events", [], seconds=limits.INTEGRITY_SECONDS)
        if events == greatest:
            return []
        return [f"{events} events are there, the last has number {greatest}."]

    async def close(self) -> None:
        """Finish what was accepted, and let go of the connections; the pool stays as it is."""
        self._refuse_fork()
        self._closed = True
        self._listener.wakeups.close()
        await self._listener.ended()
        await self._reading.close()
        self._flusher.queue.close()
        await asyncio.gather(*self._tasks)

    async def _write(self, work: Work) -> Any:
        self._check_usable()
        self._start()
        return await self._flusher.queue.ask(work)

    async def _read(self, work: Lookup | Query | Visit, *, seconds: float | None = None) -> Any:
        self._check_usable()
        self._start()
        return await self._reading.ask(work, seconds=self._call_seconds if seconds is None else seconds)

    async def _query(self, name: str, parameters: Sequence[Parameter], *, seconds: float | None = None) -> list[Row]:
        rows: list[Row] = await self._read(Query(statement_in(self._schema, name), parameters), seconds=seconds)
        return rows

    async def _list_heads(self, name: str, parameters: Sequence[Parameter]) -> list[Stream]:
        return [stream_of(found_head(row)) for row in await self._query(name, parameters)]

    async def _list_events(self, name: str, parameters: Sequence[Parameter]) -> list[Recorded]:
        return [recorded(found_event(row)) for row in await self._query(name, parameters)]

    async def _find_last_seq(self) -> int:
        [(seq,)] = await self._query("find_last_seq", [])
        return int(seq)

    async def _find_channel(self) -> str:
        [(channel,)] = await self._query("find_channel", [])
        return str(channel)

    async def _check(self, check: Callable[..., Awaitable[None]]) -> None:
        if self._closed:
            raise StoreClosed
        schema = self._schema
        await self._read(Visit(lambda session, deadline: check(session, schema, deadline=deadline)))

    async def _connect(self, deadline: float) -> PostgresSession:
        return await PostgresSession.open(self._pool, deadline=deadline, prepare=self._prepare)

    def _start(self) -> None:
        if self._tasks or self._closed:
            return
        loop = asyncio.get_running_loop()
        works = [self._flusher.run(), *(reader.run() for reader in self._readers)]
        self._tasks = [loop.create_task(work, name="pausemesh-postgres") for work in works]

    def _check_usable(self) -> None:
        self._refuse_fork()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise InvalidRequest("A store in PostgreSQL is used on the event loop of its pool.")

    def _refuse_fork(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedMesh


def _check_room(pool: Pool, needed: int) -> None:
    if pool.max_size < needed:
        message = f"must have {needed} connections, since the store keeps so many"
        raise InvalidRequest(issues=[Issue("/pool", "parameter", message)])
