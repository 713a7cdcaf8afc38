"""The schema of a PostgreSQL database: made and brought up to date when that is asked for, and at no other time."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import (
    OutcomeUnknown,
    PauseMeshError,
    SchemaIncomplete,
    SchemaMissing,
    StoreUnavailable,
    StoreUnsafe,
)
from pausemesh.records import CrashPoint
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.migrate import pending
from pausemesh.stores.postgres_errors import ConnectionLost, ServerRefused
from pausemesh.stores.postgres_objects import LEDGER, Objects, objects_in, verify_objects
from pausemesh.stores.postgres_rows import Row
from pausemesh.stores.postgres_schema_name import check_schema_name
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import in_schema, statement_in
from pausemesh.stores.postgres_values import Parameter
from pausemesh.stores.statements import Migration, migrations

OLDEST_SERVER: Final = 14
_ENCODING: Final = "UTF8"
_OF_A_MAJOR_VERSION: Final = 10_000
_BODY_MARK: Final = "$$"

_STATEMENT_SECONDS: Final = 3600.0
"""Others that migrate may be waited for, and what a migration does to many rows takes its time."""

_NO_RIGHT: Final = "42501"
_CANNOT_BE_READ: Final = "42703"
_IS_THERE: Final = frozenset({"42P07", "42710", "42723"})


async def migrate_postgres_event_store(
    pool: AsyncConnectionPool[Any], schema: str = "pausemesh", *, fault: Callable[[CrashPoint], None] | None = None
) -> Sequence[int]:
    """Make the schema, or bring it up to date, and return the numbers of the migrations that this took.

    It can be run again, and by several at once: they wait for each other. Each migration is one transaction. The
    connection that it takes is closed afterwards, whether a rollback succeeded or not.

    Args:
        pool: of the host, whose role may create what is needed; it is neither opened nor closed.
        schema: its name; it is created unless it is there.
        fault: called after each statement of a migration.

    Raises:
        InvalidRequest: the name is not safe.
        SchemaError: what is there is not what an earlier run made; nothing was changed.
        StoreUnsafe: the server is too old or its encoding is not UTF8, or the role may not do this.
        StoreUnavailable: the database cannot be reached, or takes no writes; nothing was changed.
        OutcomeUnknown: the connection was lost during a commit; run it again.
    """
    check_schema_name(schema)
    session = await PostgresSession.open(pool, deadline=time.monotonic() + pool.timeout, prepare=False)
    migrator = _Migrator(session, schema, fault)
    is_done = False
    try:
        while await migrator.go_on():
            pass
        is_done = True
    except ConnectionLost:
        raise StoreUnavailable("The connection was lost.") from None
    except ServerRefused as refused:
        raise _meaning(refused) from None
    finally:
        await (session.give_back() if is_done else session.close())
    return migrator.applied


def check_ledger(rows: Sequence[Row]) -> Sequence[Migration]:
    """Return the migrations that a ledger lacks.

    Raises:
        SchemaMissing: the ledger is empty.
        SchemaNewer: it has a migration that this release does not carry.
        SchemaChanged: one that was applied differs from the one that is carried.
    """
    if not rows:
        raise SchemaMissing("The ledger of migrations is empty.")
    return pending(migrations("postgres"), [(number, checksum) for number, checksum in rows])


def check_server(version: int, encoding: str) -> None:
    """Pass a server that can keep what is stored.

    Args:
        version: as the server writes it in a number, 140023 for 14.23.
        encoding: of the database.

    Raises:
        StoreUnsafe: it is another one.
    """
    if version < OLDEST_SERVER * _OF_A_MAJOR_VERSION:
        raise StoreUnsafe(f"PostgreSQL must be of version {OLDEST_SERVER} or newer.")
    if encoding != _ENCODING:
        raise StoreUnsafe(f"The database's encoding must be {_ENCODING}.")


class _Migrator:
    """Applies what is missing, a transaction each; a transaction that fails ends with its connection."""

    def __init__(self, session: PostgresSession, schema: str, fault: Callable[[CrashPoint], None] | None) -> None:
        self._session = session
        self._schema = schema
        self._fault = fault
        self.applied: list[int] = []

    async def go_on(self) -> bool:
        """Apply the next migration, if one is missing, and tell whether more are left; verify all, if none is."""
        # At another level of isolation, what is read after the lock would be from before it.
        await self._run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        await self._fetch("lock_migration", pg.bigint(_key_of(self._schema)))
        left = await self._left()
        if left:
            await self._apply(left[0])
        is_last = len(left) <= 1
        if is_last:
            verify_objects(await self._objects())
        await self._commit()
        self.applied.extend([migration.number for migration in left[:1]])
        return not is_last

    async def _commit(self) -> None:
        self._session.was_warned = False
        try:
            await self._run("COMMIT")
        except ConnectionLost:
            raise OutcomeUnknown from None
        if self._session.was_warned:  # it did not wait for the standby to the end
            raise OutcomeUnknown

    async def _left(self) -> Sequence[Migration]:
        """Return the migrations that are missing, after making the schema if it is."""
        [(version, encoding, *_)] = await self._fetch("find_server")
        check_server(version, encoding)
        if not await self._fetch("find_schema", pg.text(self._schema)):
            await self._run(f'CREATE SCHEMA "{self._schema}"')
        if LEDGER not in await self._objects():
            return migrations("postgres")
        return check_ledger(await self._fetch("list_migrations"))

    async def _apply(self, migration: Migration) -> None:
        for sql in _statements_of(migration):
            await self._run(in_schema(self._schema, sql))
            if self._fault is not None:
                self._fault(CrashPoint.MID_MIGRATION)
        entry = (pg.integer(migration.number), pg.text(migration.name), pg.text(migration.checksum))
        await self._fetch("insert_migration", *entry)

    async def _objects(self) -> Objects:
        return await objects_in(self._session, self._schema, deadline=_deadline())

    async def _fetch(self, name: str, *parameters: Parameter) -> Sequence[Row]:
        return await self._session.fetch(statement_in(self._schema, name), parameters, deadline=_deadline())

    async def _run(self, sql: str) -> None:
        await self._session.run(sql.encode(), deadline=_deadline())


def _meaning(refused: ServerRefused) -> PauseMeshError:
    """Return what a caller is told, where it is something else than at run time."""
    if refused.sqlstate == _NO_RIGHT:
        return StoreUnsafe("The role may not create the schema, or what belongs into it.")
    if refused.sqlstate == _CANNOT_BE_READ:
        return SchemaIncomplete("The ledger of migrations cannot be read.")
    if refused.sqlstate in _IS_THERE:
        return SchemaIncomplete("The schema holds something else under a name that is needed.")
    return refused.meaning()


def _statements_of(migration: Migration) -> Iterator[str]:
    """Split a script where a line ends with a semicolon that is not of a function's body."""
    sql = ""
    for line in migration.sql.splitlines(keepends=True):
        sql += line
        if line.rstrip().endswith(";") and sql.count(_BODY_MARK) % 2 == 0:
            yield sql
            sql = ""


def _key_of(schema: str) -> int:
    """Return which advisory lock those that migrate a schema wait for."""
    digest = hashlib.sha256(f"pausemesh migration:{schema}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _deadline() -> float:
    return time.monotonic() + _STATEMENT_SECONDS
