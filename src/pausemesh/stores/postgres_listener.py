"""Looks for commits of others: woken by the server, and now and then by the clock in case that it was not."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from pausemesh.core.errors import PauseMeshError
from pausemesh.stores.postgres_session import Connection, Pool
from pausemesh.stores.wakeups import Wakeups

_BACKSTOP_SECONDS: Final = 2.0
"""How often it looks by itself while the server wakes it."""

_POLL_SECONDS: Final = 0.1
"""How often it looks while the server cannot."""

_CONNECT_SECONDS: Final = 5.0
_SECONDS_TO_RESET: Final = 2.0


class PostgresListener:
    """A ``Watch``: while somebody listens it holds a connection of its own.

    Args:
        pool: of the host.
        find_channel: returns the name of the channel that is notified.
        find_last_seq: returns the greatest seq that is committed.
        listen: False polls alone, as a pooler between here and the server makes necessary.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        find_channel: Callable[[], Awaitable[str]],
        find_last_seq: Callable[[], Awaitable[int]],
        listen: bool,
    ) -> None:
        self._pool = pool
        self._find_channel = find_channel
        self._find_last_seq = find_last_seq
        self._listen = listen
        self._task: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._newest = 0
        self.wakeups = Wakeups(self)

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="pausemesh-postgres-listener")

    def stop(self) -> None:
        """Cease to look."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def ended(self) -> None:
        """Wait until what has ceased has let go of its connection."""
        self.stop()
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            if self._listen:
                with suppress(psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests, PauseMeshError, OSError):
                    await self._follow()
            await self._look()
            await asyncio.sleep(_POLL_SECONDS)

    async def _follow(self) -> None:
        """Announce what the server tells, until the connection is lost."""
        channel = await self._find_channel()
        connection: Connection = await self._pool.getconn(_CONNECT_SECONDS)
        was_autocommit = connection.autocommit
        try:
            await connection.set_autocommit(True)
            await connection.execute(f'LISTEN "{channel}"'.encode())
            while True:
                await self._look()
                async for notify in connection.notifies(timeout=_BACKSTOP_SECONDS):
                    self._announce(int(notify.payload))
        finally:
            await _give_back(self._pool, connection, was_autocommit=was_autocommit)

    async def _look(self) -> None:
        before = self._newest
        with suppress(PauseMeshError):
            seq = await self._find_last_seq()
            if seq < before:
                # The server is another one now, that has not all that this one had.
                self._newest = 0
                self.wakeups.start_over()
            self._announce(seq)

    def _announce(self, seq: int) -> None:
        self._newest = max(self._newest, seq)
        self.wakeups.announce(seq)


async def _give_back(pool: Pool, connection: Connection, *, was_autocommit: bool) -> None:
    """Give a connection back as it was, or closed where that does not work."""
    try:
        async with asyncio.timeout(_SECONDS_TO_RESET):
            await connection.execute("UNLISTEN *")
            await connection.set_autocommit(was_autocommit)
    except (psycopg.Error, TimeoutError):
        await connection.close()
    await pool.putconn(connection)
