"""Whether a PostgreSQL database can serve: durable settings, the exact schema, and a role with its rights and no more.

No error here has a word of the server in it; they end in answers to strangers.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pausemesh.core.errors import SchemaMissing, StoreUnavailable, StoreUnsafe
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.postgres_objects import LEDGER, Objects, objects_in, verify_objects
from pausemesh.stores.postgres_roles import rights
from pausemesh.stores.postgres_rows import Row
from pausemesh.stores.postgres_schema import check_ledger, check_server
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import statement_in

_FLUSHING: Final = frozenset({"on", "remote_apply", "remote_write"})
_FLUSHING_HERE: Final = "local"
"""A commit waits for this server's disk alone, so that a standby that takes over may lack it."""


class _Server(NamedTuple):
    """The columns of find_server."""

    version: int
    encoding: str
    is_standby: bool
    read_only: str
    isolation: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    standbys: str
    replication_role: str
    is_superuser: str


async def check_schema(session: PostgresSession, schema: str, *, deadline: float) -> None:
    """Pass a schema that is exactly the one of this release, whatever the server's settings and the role's rights are.

    Args:
        session: of a role that may read the schema.
        schema: its name, which was checked.
        deadline: by ``time.monotonic``.

    Raises:
        StoreUnsafe: the server is too old or its encoding is not UTF8.
        SchemaError: the schema is not the one of this release.
        ConnectionLost: there was no answer in time.
        ServerRefused: the server failed, or the role may not read.
    """
    server = await _server(session, schema, deadline)
    check_server(server.version, server.encoding)
    await _check_objects(session, schema, await _objects(session, schema, deadline), deadline)


async def check_ready(
    session: PostgresSession, schema: str, *, deadline: float, continuations_only: bool = False
) -> None:
    """Pass a database that can serve now.

    Args:
        session: of the role that serves.
        schema: the schema's name, which was checked.
        deadline: by ``time.monotonic``.
        continuations_only: the role has the narrow set of rights.

    Raises:
        StoreUnavailable: the server takes no writes.
        StoreUnsafe: it would lose what it acknowledges, or the role has too many rights or too few.
        SchemaError: the schema is not the one of this release.
        ConnectionLost: there was no answer in time.
        ServerRefused: the server failed.
    """
    _check(await _server(session, schema, deadline))
    objects = await _objects(session, schema, deadline)
    columns = zip(*rights(continuations_only=continuations_only), strict=True)
    sought = [pg.text(schema), *[pg.texts(column) for column in columns]]
    _check_rights(await session.fetch(statement_in(schema, "list_missing_rights"), sought, deadline=deadline))
    await _check_objects(session, schema, objects, deadline)


async def _server(session: PostgresSession, schema: str, deadline: float) -> _Server:
    [row] = await session.fetch(statement_in(schema, "find_server"), [], deadline=deadline)
    return _Server(*row)


async def _objects(session: PostgresSession, schema: str, deadline: float) -> Objects:
    objects = await objects_in(session, schema, deadline=deadline)
    if LEDGER not in objects:
        raise SchemaMissing("There is no ledger of migrations in the schema.")
    return objects


async def _check_objects(session: PostgresSession, schema: str, objects: Objects, deadline: float) -> None:
    if check_ledger(await session.fetch(statement_in(schema, "list_migrations"), [], deadline=deadline)):
        raise SchemaMissing("A migration was not applied.")
    verify_objects(objects)


def _check(server: _Server) -> None:
    check_server(server.version, server.encoding)
    if server.is_standby or server.read_only == "on":
        raise StoreUnavailable("The server takes no writes, as a standby does not.")
    if server.is_superuser == "on":
        raise StoreUnsafe("The role is a superuser; it must be one that can change no trigger.")
    for is_safe, what in _conditions(server):
        if not is_safe:
            raise StoreUnsafe(f"The setting {what}.")


def _conditions(server: _Server) -> Sequence[tuple[bool, str]]:
    is_flushed = server.synchronous_commit in _FLUSHING
    is_flushed |= server.synchronous_commit == _FLUSHING_HERE and not server.standbys
    return (
        (server.fsync == "on", "fsync must be on"),
        (server.full_page_writes == "on", "full_page_writes must be on"),
        (is_flushed, "synchronous_commit must be on, or local where no standby is synchronous"),
        (server.isolation == "read committed", "default_transaction_isolation must be read committed"),
        (server.replication_role == "origin", "session_replication_role must be origin, so that triggers act"),
    )


def _check_rights(missing: Sequence[Row]) -> None:
    if missing:
        what = ", ".join(sorted(" ".join(part for part in row if part) for row in missing))
        raise StoreUnsafe(f"The role lacks rights: {what}.")
