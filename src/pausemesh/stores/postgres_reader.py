"""The tasks that read: look-ups of streams that wait share a statement."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from pausemesh.core import limits
from pausemesh.core.errors import Overloaded, StoreClosed, StoreUnavailable
from pausemesh.records import Examined, Stream
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.calls import waited_too_long
from pausemesh.stores.postgres_asked import Asked
from pausemesh.stores.postgres_errors import ConnectionLost, ServerRefused
from pausemesh.stores.postgres_rows import Row, by_number, examined_stream, loaded_stream
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import Statement
from pausemesh.stores.postgres_values import Parameter

Ref: TypeAlias = tuple[str, str]

_STREAMS_AT_ONCE: Final = 64
_CALLS_MOST: Final = limits.QUEUED_WRITES


class Lookup(NamedTuple):
    """Streams that are wanted: as loaded ones, or as examined."""

    refs: tuple[Ref, ...]
    is_examined: bool = False


class Query(NamedTuple):
    """A statement whose rows are wanted."""

    statement: Statement
    parameters: Sequence[Parameter]


class Visit(NamedTuple):
    """Something that is done with the connection."""

    do: Callable[[PostgresSession, float], Awaitable[None]]


_AskedRead: TypeAlias = Asked[Lookup | Query | Visit]


class ReadQueue:
    """Reads that wait for one of the readers."""

    def __init__(self) -> None:
        self._asked: deque[_AskedRead] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    async def ask(self, work: Lookup | Query | Visit, *, seconds: float) -> Any:
        """Queue a read and wait for its outcome.

        Raises:
            StoreClosed: the queue is closed.
            Overloaded: too much is waiting.
            StoreUnavailable: there was no outcome in time.
        """
        if self._closed:
            raise StoreClosed
        if len(self._asked) >= _CALLS_MOST:
            raise Overloaded
        asked: _AskedRead = Asked(work, seconds=seconds)
        self._asked.append(asked)
        async with self._changed:
            self._changed.notify()
        timer = asyncio.get_running_loop().call_later(2 * seconds, asked.settle, waited_too_long())
        try:
            return await asked.future
        finally:
            timer.cancel()

    async def take(self) -> list[_AskedRead]:
        """Wait for reads and return the first ones that fit together; none once the queue is closed and empty."""
        async with self._changed:
            while True:
                await self._changed.wait_for(lambda: self._asked or self._closed)
                if not self._asked:
                    return []
                if taken := self._take_some():
                    return taken

    async def close(self) -> None:
        """Accept nothing more; what was accepted can still be taken."""
        self._closed = True
        async with self._changed:
            self._changed.notify_all()

    def _take_some(self) -> list[_AskedRead]:
        taken: list[_AskedRead] = []
        streams = 0
        while self._asked:
            work = self._asked[0].work
            if taken and not (isinstance(work, Lookup) and streams + len(work.refs) <= _STREAMS_AT_ONCE):
                break
            asked = self._asked.popleft()
            if asked.future.done():
                continue
            taken.append(asked)
            if not isinstance(work, Lookup):
                break
            streams += len(work.refs)
        return taken


class PostgresReader:
    """Takes reads from a queue that several readers share; holds its connection from the first on.

    Args:
        queue: of all readers.
        connect: opens a session, given a deadline by ``time.monotonic``; raises StoreUnavailable.
        list_streams: the statement that finds streams.
        most_events: how many events a stream may hold.
    """

    def __init__(
        self,
        queue: ReadQueue,
        connect: Callable[[float], Awaitable[PostgresSession]],
        list_streams: Statement,
        *,
        most_events: int,
    ) -> None:
        self._queue = queue
        self._connect = connect
        self._list_streams = list_streams
        self._most_events = most_events
        self._session: PostgresSession | None = None

    async def run(self) -> None:
        """Read until the queue is closed and empty."""
        while asked := await self._queue.take():
            try:
                await self._serve(asked)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it and the next are served
                await self._drop_session()
                for one in asked:
                    one.settle(error)
        if self._session is not None:
            await self._session.give_back()

    async def _serve(self, asked: list[_AskedRead]) -> None:
        """Answer reads; a connection that was lost while it lay idle is replaced once."""
        deadline = max(one.deadline for one in asked)
        was_fresh = self._session is None
        try:
            await self._answer(asked, deadline)
        except ConnectionLost:
            await self._drop_session()
            if was_fresh or time.monotonic() > deadline:
                raise StoreUnavailable("The connection was lost.") from None
            await self._serve(asked)
        except ServerRefused as refused:
            if refused.is_of_data and len(asked) > 1:
                for one in asked:
                    await self._serve([one])
                return
            raise refused.meaning() from None

    async def _answer(self, asked: list[_AskedRead], deadline: float) -> None:
        if self._session is None:
            self._session = await self._connect(deadline)
        work = asked[0].work
        if isinstance(work, Query):
            asked[0].settle(await self._session.fetch(*work, deadline=deadline))
        elif isinstance(work, Visit):
            await work.do(self._session, deadline)
            asked[0].settle(None)
        else:
            await self._look_up(self._session, asked, deadline)

    async def _look_up(self, session: PostgresSession, asked: list[_AskedRead], deadline: float) -> None:
        lookups = [one.work for one in asked if isinstance(one.work, Lookup)]
        refs = [ref for lookup in lookups for ref in lookup.refs]
        most = limits.EXAMINED_EVENTS if any(lookup.is_examined for lookup in lookups) else self._most_events + 1
        wanted = [pg.texts(scope for scope, _ in refs), pg.texts(stream for _, stream in refs), pg.bigint(most)]
        found = by_number(await session.fetch(self._list_streams, wanted, deadline=deadline))
        number = 1
        for one, lookup in zip(asked, lookups, strict=True):
            rows = [found[number + index] for index in range(len(lookup.refs))]
            number += len(lookup.refs)
            one.settle(self._reply_to(lookup, rows))

    def _reply_to(self, lookup: Lookup, rows: list[list[Row]]) -> object:
        try:
            return [self._stream_of(lookup, ref, found) for ref, found in zip(lookup.refs, rows, strict=True)]
        except Exception as error:  # noqa: BLE001 - what one read alone is to blame for hurts no other
            return error

    def _stream_of(self, lookup: Lookup, ref: Ref, rows: list[Row]) -> Stream | Examined | None:
        if lookup.is_examined:
            return examined_stream(ref, rows)
        return loaded_stream(ref, rows, self._most_events)

    async def _drop_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
