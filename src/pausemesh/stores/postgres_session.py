"""A connection that is kept, and how statements go over it: all in one message, with a limit of time."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

import psycopg
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.errors import Diagnostic
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.types.numeric import Int8BinaryLoader
from psycopg.types.string import ByteaBinaryLoader
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from pausemesh.core.errors import StoreUnavailable
from pausemesh.stores.postgres_errors import ConnectionLost, ServerRefused, error_in
from pausemesh.stores.postgres_statement import Statement
from pausemesh.stores.postgres_values import Parameter
from pausemesh.stores.postgres_wire import PostgresWire

Row = tuple[Any, ...]
Connection = psycopg.AsyncConnection[Any]
Pool = AsyncConnectionPool[Any]
Sending = tuple[Statement, Sequence[Parameter]]

_SETTINGS: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "client_min_messages": "warning",
    "client_encoding": "UTF8",
}
"""All statements are small and have their index; a planner that thinks it over each time takes longer than they do."""

_SET: Final = "; ".join(f"SET {name} = '{value}'" for name, value in _SETTINGS.items()).encode()
_RESET: Final = "; ".join(f"RESET {name}" for name in _SETTINGS).encode()
_SECONDS_TO_RESET: Final = 2.0

_FINE: Final = frozenset({ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC})
_WARNING: Final = "WARNING"
_ASKED_SECONDS: Final = 0.5
_NONE_IN_TIME: Final = "The pool gave no connection in time."


class _Loading(NamedTuple):
    """How values are loaded: as this session wants it, and not whoever has the connection next."""

    adapters: AdaptersMap
    connection: Connection


class PostgresSession:
    """A connection out of the host's pool; given back without a trace of its use, or closed.

    Attributes:
        was_warned: the server warned of something since the last exchange began.
    """

    def __init__(self, pool: Pool, connection: Connection, *, prepare: bool) -> None:
        self._pool = pool
        self._connection = connection
        self._wire: PGconn = connection.pgconn
        self._answers = PostgresWire(connection.pgconn)
        self._prepare = prepare
        self._prepared: set[bytes] = set()
        self._rows = Transformer(_Loading(AdaptersMap(connection.adapters), connection))
        self.was_warned = False

    @classmethod
    async def open(cls, pool: Pool, *, deadline: float, prepare: bool) -> Self:
        """Take a connection out of a pool.

        Args:
            pool: of the host.
            deadline: by ``time.monotonic``.
            prepare: it is this session's alone, so that settings and prepared statements stay on it.

        Raises:
            StoreUnavailable: there was none in time.
        """
        while True:
            session = cls(pool, await _taken_from(pool, deadline), prepare=prepare)
            try:
                await session._begin(deadline)
            except ConnectionLost:  # while it lay in the pool
                await session.close()
                if time.monotonic() > deadline:
                    raise StoreUnavailable(_NONE_IN_TIME) from None
            except BaseException:
                await session.close()
                raise
            else:
                return session

    async def fetch(self, statement: Statement, parameters: Sequence[Parameter], *, deadline: float) -> list[Row]:
        """Send one statement, which is a transaction of its own unless one was begun, and return its rows.

        Raises:
            ConnectionLost: there was no answer, or not in time.
            ServerRefused: it failed.
        """
        [rows] = await self.exchange([(statement, parameters)], deadline=deadline)
        return rows

    async def exchange(self, sendings: Sequence[Sending], *, deadline: float) -> list[list[Row]]:
        """Send statements in one message, as one transaction, and return the rows of each.

        Raises:
            ConnectionLost: there was no answer, or not in time.
            ServerRefused: one failed, and all are undone.
        """
        self.was_warned = False
        await self._prepare_missing(sendings, deadline)
        try:
            if len(sendings) == 1:
                self._send(*sendings[0])
                results = await self._answers.results(deadline)
            else:
                results = await self._pipe(sendings, deadline)
        except psycopg.Error:
            raise ConnectionLost from None
        return [self._rows_in(result) for result in results]

    async def run(self, sql: bytes, *, deadline: float) -> None:
        """Send SQL without parameters and rows.

        Raises:
            ConnectionLost: there was no answer, or not in time.
            ServerRefused: it failed.
        """
        try:
            self._wire.send_query(sql)
            results = await self._answers.results(deadline)
        except psycopg.Error:
            raise ConnectionLost from None
        for result in results:
            _check(result)

    async def give_back(self) -> None:
        """Give the connection back as it was; it is closed where that does not work."""
        try:
            deallocations = [b"DEALLOCATE " + name for name in self._prepared]
            await self.run(b"; ".join([_RESET, *deallocations]), deadline=time.monotonic() + _SECONDS_TO_RESET)
        except (ConnectionLost, ServerRefused):
            await self.close()
            return
        self._connection.remove_notice_handler(self._take_notice)
        with suppress(psycopg.Error):
            await self._pool.putconn(self._connection)

    async def close(self) -> None:
        """End the connection, whatever it is doing, and give it back."""
        await self._connection.close()
        with suppress(psycopg.Error):
            await self._pool.putconn(self._connection)

    async def _begin(self, deadline: float) -> None:
        if self._connection.closed:
            raise ConnectionLost
        self._wire.nonblocking = 1
        self._connection.add_notice_handler(self._take_notice)
        adapters = self._rows.adapters
        adapters.register_loader("timestamptz", Int8BinaryLoader)
        adapters.register_loader("uuid", ByteaBinaryLoader)
        if self._prepare:
            await self.run(_SET, deadline=deadline)

    def _take_notice(self, diagnostic: Diagnostic) -> None:
        self.was_warned = self.was_warned or diagnostic.severity_nonlocalized == _WARNING

    async def _prepare_missing(self, sendings: Sequence[Sending], deadline: float) -> None:
        for statement, _ in sendings if self._prepare else ():
            if statement.name not in self._prepared:
                try:
                    self._wire.send_prepare(statement.name, statement.sql)
                    [result] = await self._answers.results(deadline)
                except psycopg.Error:
                    raise ConnectionLost from None
                _check(result)
                self._prepared.add(statement.name)

    def _send(self, statement: Statement, parameters: Sequence[Parameter]) -> None:
        formats = [Format.BINARY] * len(parameters)
        if self._prepare:
            self._wire.send_query_prepared(statement.name, parameters, formats, Format.BINARY)
        else:
            self._wire.send_query_params(statement.sql, parameters, None, formats, Format.BINARY)

    async def _pipe(self, sendings: Sequence[Sending], deadline: float) -> list[PGresult]:
        self._wire.enter_pipeline_mode()
        for sending in sendings:
            self._send(*sending)
        self._wire.pipeline_sync()
        results = await self._answers.results(deadline, piped=len(sendings) + 1)
        self._wire.exit_pipeline_mode()
        return results[:-1]

    def _rows_in(self, result: PGresult) -> list[Row]:
        _check(result)
        self._rows.set_pgresult(result)
        return self._rows.load_rows(0, result.ntuples, tuple)


async def _taken_from(pool: Pool, deadline: float) -> Connection:
    """Ask for a connection again and again: a pool that gave up on one makes another only when it is asked."""
    while True:
        left = deadline - time.monotonic()
        try:
            connection: Connection = await pool.getconn(max(0.0, min(left, _ASKED_SECONDS)))
        except PoolTimeout:
            if left <= _ASKED_SECONDS:
                raise StoreUnavailable(_NONE_IN_TIME) from None
        except (PoolClosed, TooManyRequests, psycopg.Error, OSError):
            # Not chained: such an error may name the server and the user.
            raise StoreUnavailable(_NONE_IN_TIME) from None
        else:
            return connection


def _check(result: PGresult) -> None:
    if result.status not in _FINE:
        raise error_in(result)
