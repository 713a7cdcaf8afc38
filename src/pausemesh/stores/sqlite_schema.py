"""The schema of a SQLite file: made, brought up to date, and compared object by object."""

import functools
from collections.abc import Callable, Iterator
from typing import Final

import apsw

from pausemesh.core.errors import SchemaIncomplete, SchemaMissing
from pausemesh.ports import Clock
from pausemesh.records import CrashPoint
from pausemesh.stores.migrate import pending
from pausemesh.stores.rows import to_micros
from pausemesh.stores.sqlite_connection import SqliteConnection, translated
from pausemesh.stores.sqlite_rows import fetch, migration_of
from pausemesh.stores.statements import Migration, migrations, statement

_BEGIN: Final = statement("sqlite", "begin_write")
_COMMIT: Final = statement("sqlite", "commit")
_ROLLBACK: Final = statement("sqlite", "rollback")
_LIST_MIGRATIONS: Final = statement("sqlite", "list_migrations")
_INSERT_MIGRATION: Final = statement("sqlite", "insert_migration")
_LIST_SCHEMA_OBJECTS: Final = statement("sqlite", "list_schema_objects")

_LEDGER: Final = ("table", "migrations")

Objects = dict[tuple[str, str], str]
"""The SQL of each object of a schema by its type and name."""


def prepare_schema(connection: SqliteConnection, clock: Clock, fault: Callable[[CrashPoint], None] | None) -> None:
    """Make the schema in a new file, or bring an older one up to date, then verify it.

    Two processes may do so at once; a process that dies in between leaves the file as it was.

    Raises:
        SchemaError: the file's schema is not the one that its ledger promises.
    """
    with translated():
        connection.cursor.execute(_BEGIN)
        try:
            _migrate(connection, clock, fault)
            _verify(connection.cursor)
        except BaseException:
            connection.cursor.execute(_ROLLBACK)
            raise
        connection.cursor.execute(_COMMIT)


def verify_schema(cursor: apsw.Cursor) -> None:
    """Pass a file that has exactly the schema of this release.

    Raises:
        SchemaError: it has not.
    """
    with translated():
        if pending(migrations("sqlite"), _ledger(cursor)):
            raise SchemaMissing("A migration was not applied.")
        _verify(cursor)


def _migrate(connection: SqliteConnection, clock: Clock, fault: Callable[[CrashPoint], None] | None) -> None:
    cursor = connection.cursor
    is_new = not connection.is_marked and not _objects(cursor)
    applied = [] if is_new else _ledger(cursor)
    for migration in pending(migrations("sqlite"), applied):
        for sql in _statements_of(migration):
            cursor.execute(sql)
            if fault is not None:
                fault(CrashPoint.MID_MIGRATION)
        entry = (migration.number, migration.name, migration.checksum, to_micros(clock.now()))
        cursor.execute(_INSERT_MIGRATION, entry)
    if is_new:
        connection.mark()


def _ledger(cursor: apsw.Cursor) -> list[tuple[int, str]]:
    applied = fetch(cursor, _LIST_MIGRATIONS) if _LEDGER in _objects(cursor) else []
    if not applied:
        raise SchemaMissing("The file has no ledger of migrations.")
    return [migration_of(row) for row in applied]


def _verify(cursor: apsw.Cursor) -> None:
    expected, actual = _expected_objects(), _objects(cursor)
    for place, sql in expected.items():
        if actual.get(place) != sql:
            raise SchemaIncomplete(f"The {' '.join(place)} is missing or altered.")
    added = [name for kind, name in actual.keys() - expected.keys() if kind == "trigger"]
    if added:
        raise SchemaIncomplete("The schema has a trigger that does not belong to it.")


def _objects(cursor: apsw.Cursor) -> Objects:
    return {(str(kind), str(name)): str(sql) for kind, name, sql in fetch(cursor, _LIST_SCHEMA_OBJECTS)}


@functools.cache
def _expected_objects() -> Objects:
    """Return what the migrations make of an empty database."""
    fresh = apsw.Connection(":memory:")
    try:
        for migration in migrations("sqlite"):
            fresh.execute(migration.sql)
        return _objects(fresh.cursor())
    finally:
        fresh.close()


def _statements_of(migration: Migration) -> Iterator[str]:
    """Split a script where statements end; a trigger's body has semicolons too."""
    sql = ""
    for line in migration.sql.splitlines(keepends=True):
        sql += line
        if line.rstrip().endswith(";") and apsw.complete(sql):
            yield sql
            sql = ""
