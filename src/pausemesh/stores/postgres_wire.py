"""Waiting for a PostgreSQL server, with a limit of time, and without asking the event loop anew for each answer."""

import asyncio
import time
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.pq.abc import PGconn, PGresult

from pausemesh.stores.postgres_errors import ConnectionLost

_LOOK_SECONDS: Final = 0.25
"""How often it looks by itself while somebody waits: uvloop ceases to watch a socket that has an error, and says so to
nobody."""


class PostgresWire:
    """Reads a connection whenever something comes, and lets one caller at a time wait for results.

    Args:
        wire: of an open connection that nobody else uses until ``let_go``.
    """

    def __init__(self, wire: PGconn) -> None:
        self._wire = wire
        self._socket = wire.socket
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None
        self._is_lost = False
        self._is_let_go = False
        wire.nonblocking = 1
        self._loop.add_reader(self._socket, self._read)

    def let_go(self) -> None:
        """Read no more; again is harmless: by then the number of the socket may be that of another connection."""
        if not self._is_let_go:
            self._is_let_go = True
            self._loop.remove_reader(self._socket)
            self._forget_writing()

    async def results(self, deadline: float, *, piped: int = 0) -> list[PGresult]:
        """Return the results of what was sent: in a pipeline so many, otherwise those of one statement or script.

        Raises:
            ConnectionLost: the connection was lost, or the deadline by ``time.monotonic`` has passed.
            psycopg.Error: it was lost.
        """
        await self._flush(deadline)
        results: list[PGresult] = []
        while True:
            while self._wire.is_busy():
                await self._wait(deadline)
            result = self._wire.get_result()
            if result is not None:
                results.append(result)
            if (piped and len(results) == piped) or (result is None and not piped):
                return results

    def _read(self) -> None:
        try:
            self._wire.consume_input()
        except psycopg.Error:
            self._is_lost = True
            self.let_go()
        self._go_on()

    def _go_on(self) -> None:
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _look(self, waiting: asyncio.Future[None], deadline: float) -> None:
        if time.monotonic() < deadline:
            self._read()
        elif not waiting.done():
            waiting.set_exception(ConnectionLost())

    async def _flush(self, deadline: float) -> None:
        """Send what the kernel does not take at once; what the server says meanwhile is read, so that it takes it."""
        if not self._wire.flush():
            return
        self._loop.add_writer(self._socket, self._go_on)
        try:
            while self._wire.flush():
                await self._wait(deadline)
        finally:
            if not self._is_let_go:
                self._forget_writing()

    def _forget_writing(self) -> None:
        with suppress(OSError, ValueError):
            self._loop.remove_writer(self._socket)

    async def _wait(self, deadline: float) -> None:
        """Wait until something came, or can be sent."""
        if self._is_lost:
            raise ConnectionLost
        waiting = self._waiting = self._loop.create_future()
        seconds = min(deadline - time.monotonic(), _LOOK_SECONDS)
        timer = self._loop.call_later(seconds, self._look, waiting, deadline)
        try:
            await waiting
        finally:
            timer.cancel()
            self._waiting = None
        if self._is_lost:
            raise ConnectionLost
