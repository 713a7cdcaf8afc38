"""A pool of our own, where a PostgreSQL database is named by its address.

No error, ``repr`` or log line of it has a word of the address: a driver tells the server and the user in many places.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import InvalidRequest, StoreUnavailable
from pausemesh.core.issue import Issue
from pausemesh.ports import Clock
from pausemesh.stores.postgres import PostgresEventStore
from pausemesh.stores.postgres_session import Pool

CONNECTIONS_MOST: Final = 8
"""A store keeps four at most; the rest is for the moment in which a lost one is replaced."""

_RECONNECT_SECONDS: Final = 0.0
"""The pool gives up on a connection at once, and tries to make another one whenever one is asked for: it would wait
longer from time to time, and go on waiting while the server is there again. Nor does it check what lay in it, since it
waits longer for each that is dead; a session finds out by itself."""

_DEFAULTS: Final = {"application_name": "pausemesh", "connect_timeout": "5"}
_SCHEMES: Final = ("postgresql://", "postgres://")
_NUMBERS: Final = ("connect_timeout", "port")

_MALFORMED: Final = "must be postgresql://user@host:port/database, with parameters that libpq knows"
_UNREACHABLE: Final = "The database cannot be reached, or does not let this role in."

_is_connecting: ContextVar[bool] = ContextVar("_is_connecting", default=False)


class _QuietConnection(psycopg.AsyncConnection[Any]):
    """Says nothing of where it leads to."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connect.

        Raises:
            psycopg.OperationalError: that was not possible.
        """
        before = _is_connecting.set(True)
        try:
            return await super().connect(conninfo, **options)
        except (psycopg.Error, OSError, ValueError):
            pass
        finally:
            _is_connecting.reset(before)
        # Outside of the handler, so that the driver's own error is not even its context.
        raise psycopg.OperationalError(_UNREACHABLE)

    def __repr__(self) -> str:
        return f"<connection of PauseMesh at 0x{id(self):x}>"


def _is_no_attempt(_record: logging.LogRecord) -> bool:
    """Drop what the driver tells of an attempt to connect: it names the server."""
    return not _is_connecting.get()


def _is_no_return(record: logging.LogRecord) -> bool:
    """Drop what a pool tells of a connection that it gets back: a store closes what it cannot give back as it was."""
    return not (isinstance(record.args, tuple) and any(isinstance(one, _QuietConnection) for one in record.args))


logging.getLogger("psycopg").addFilter(_is_no_attempt)
logging.getLogger("psycopg.pool").addFilter(_is_no_return)


def read_address(url: str) -> str:
    """Return what a pool of ours is told for an address.

    Raises:
        InvalidRequest: it is none that libpq can read.
    """
    try:
        members = {**_DEFAULTS, **conninfo_to_dict(url)}
        for name in _NUMBERS:
            for part in filter(None, str(members.get(name, "")).split(",")):
                int(part)
        if url.startswith(_SCHEMES) and "\0" not in url:
            return make_conninfo("", **members)
    except (psycopg.Error, ValueError):
        pass
    raise InvalidRequest(issues=[Issue("/target", "target", _MALFORMED)])


@asynccontextmanager
async def open_pool(conninfo: str, *, most: int = CONNECTIONS_MOST) -> AsyncIterator[Pool]:
    """Open a pool for the length of a block.

    Args:
        conninfo: what ``read_address`` returned.
        most: how many connections it may have.

    Raises:
        StoreUnavailable: the database cannot be reached now.
    """
    await _reach(conninfo)
    pool: Pool = AsyncConnectionPool(
        conninfo,
        connection_class=_QuietConnection,
        min_size=1,
        max_size=most,
        reconnect_timeout=_RECONNECT_SECONDS,
        open=False,
    )
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def open_postgres_store(conninfo: str, schema: str, clock: Clock | None) -> AsyncIterator[PostgresEventStore]:
    """Open a store on a pool of its own for the length of a block.

    Args:
        conninfo: what ``read_address`` returned.
        schema: where the tables are.
        clock: as for the store.

    Raises:
        StoreUnavailable: the database cannot be reached now.
        SchemaError: the schema is not the one of this release.
        StoreUnsafe: the server is too old or its encoding is not UTF8, or the role may not read.
    """
    async with open_pool(conninfo) as pool:
        store = PostgresEventStore(pool, schema, clock=clock)
        try:
            await store.check_schema()
            yield store
        finally:
            await store.close()


async def _reach(conninfo: str) -> None:
    """Connect once: a pool would try again and again where that is of no use, as with a wrong password."""
    try:
        connection = await _QuietConnection.connect(conninfo)
    except psycopg.OperationalError:
        connection = None
    if connection is None:
        raise StoreUnavailable(_UNREACHABLE)
    await connection.close()
