"""Waiting for a PostgreSQL server, with a limit of time."""

import asyncio
import time
from typing import Final

import psycopg
from psycopg.pq.abc import PGconn, PGresult

from pausemesh.stores.postgres_errors import ConnectionLost

_LOOK_SECONDS: Final = 0.25
"""How often it looks by itself: uvloop ceases to watch a socket that has an error, and says so to nobody."""


class PostgresWire:
    """Lets one caller at a time wait for results.

    The socket is watched while somebody waits, and never while libpq is called: libpq closes it as soon as it finds the
    connection lost, and the next connection of this process gets its number.

    Args:
        wire: of an open connection that nobody else uses meanwhile.
    """

    def __init__(self, wire: PGconn) -> None:
        self._wire = wire
        self._loop = asyncio.get_running_loop()

    async def results(self, deadline: float, *, piped: int = 0) -> list[PGresult]:
        """Return the results of what was sent: in a pipeline so many, otherwise those of one statement or script.

        Raises:
            ConnectionLost: the connection was lost, or the deadline by ``time.monotonic`` has passed.
        """
        try:
            return await self._results(deadline, piped)
        except psycopg.Error:
            raise ConnectionLost from None

    async def _results(self, deadline: float, piped: int) -> list[PGresult]:
        # What the kernel does not take at once waits until it can be sent; what the server says meanwhile is read.
        while self._wire.flush():
            await self._wait(deadline, writing=True)
        results: list[PGresult] = []
        while True:
            while self._wire.is_busy():
                await self._wait(deadline)
            result = self._wire.get_result()
            if result is not None:
                results.append(result)
            if (piped and len(results) == piped) or (result is None and not piped):
                return results

    async def _wait(self, deadline: float, *, writing: bool = False) -> None:
        """Wait until something came, or can be sent, or it is time to look, and read what there is."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise ConnectionLost
        socket = self._wire.socket
        ready: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_later(min(left, _LOOK_SECONDS), _settle, ready)
        self._loop.add_reader(socket, _settle, ready)
        if writing:
            self._loop.add_writer(socket, _settle, ready)
        try:
            await ready
        finally:
            timer.cancel()
            self._loop.remove_reader(socket)
            if writing:
                self._loop.remove_writer(socket)
        self._wire.consume_input()


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
