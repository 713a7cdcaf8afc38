"""A schema is made when that is asked for, once, whole, and by one at a time."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import (
    InvalidRequest,
    OutcomeUnknown,
    PauseMeshError,
    SchemaChanged,
    SchemaIncomplete,
    SchemaMissing,
    SchemaNewer,
    StoreUnavailable,
    StoreUnsafe,
)
from pausemesh.records import CrashPoint
from pausemesh.stores.postgres_objects import expected_objects, written
from pausemesh.stores.postgres_schema import migrate_postgres_event_store
from pausemesh.stores.postgres_schema_name import check_schema_name
from pausemesh.stores.statements import migrations
from pausemesh.testing.faults import RaiseAt
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from pausemesh.testing.postgres_address import PostgresAddress
from tools.postgres_objects import objects_of

Pool = AsyncConnectionPool[Any]

SCRIPT = Path(__file__).with_name("migrating.py")
NUMBERS = [migration.number for migration in migrations("postgres")]
BEGINNING = re.compile(r"^(?:ALTER|CREATE|GRANT|REVOKE) ", re.MULTILINE)
SECONDS = 60
UNSAFE_NAMES = [
    "", "Pausemesh", "1st", "a-b", "a b", 'a"b', "a.b", "a;drop schema public", "pg_mesh", "information_schema", "ä",
    "a" * 64, "a\n", "a\x00",
]  # fmt: skip


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def released(processes: Iterable[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Let processes begin at once, when all of them can."""
    waiting = list(processes)
    for process in waiting:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in waiting:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return waiting


def schemas(server: PostgresAddress) -> list[str]:
    return [name for (name,) in server.execute("SELECT nspname FROM pg_namespace")]


async def changed(pool: Pool, schema: str, server: PostgresAddress, script: str) -> PauseMeshError:
    """Return what migrating says of a schema that somebody changed; an @ stands for its name."""
    await migrate_postgres_event_store(pool, schema)
    server.execute(f"SET session_replication_role = replica; {script.replace('@', schema)}")  # no trigger acts
    with pytest.raises(PauseMeshError) as caught:
        await migrate_postgres_event_store(pool, schema)
    return caught.value


async def test_a_fresh_schema_is_made_once(pool: Pool, schema: str, postgres_server: PostgresAddress) -> None:
    assert await migrate_postgres_event_store(pool, schema) == NUMBERS
    assert await migrate_postgres_event_store(pool, schema) == []
    ledger = postgres_server.execute(f"TABLE {schema}.migrations")
    assert [row[:3] for row in ledger] == [(one.number, one.name, one.checksum) for one in migrations("postgres")]


async def test_a_schema_that_is_there_and_empty_is_filled(
    pool: Pool, schema: str, postgres_server: PostgresAddress
) -> None:
    postgres_server.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.unrelated ()")
    assert await migrate_postgres_event_store(pool, schema) == NUMBERS


async def test_two_schemas_of_one_database_are_apart(pool: Pool, schema: str, postgres_server: PostgresAddress) -> None:
    other = f"{schema}_2"
    try:
        assert await migrate_postgres_event_store(pool, schema) == NUMBERS
        assert await migrate_postgres_event_store(pool, other) == NUMBERS
    finally:
        postgres_server.execute(f"DROP SCHEMA IF EXISTS {other} CASCADE")
    assert await migrate_postgres_event_store(pool, schema) == []


def test_the_list_of_objects_is_what_the_migrations_make(schema: str, postgres_server: PostgresAddress) -> None:
    assert objects_of(postgres_server, schema) == written(expected_objects()), "run `make reference`"


async def test_4_processes_migrate_at_once_and_one_of_them_does_it(
    schema: str, postgres_server: PostgresAddress
) -> None:
    processes = [start(postgres_server.url, schema) for _ in range(4)]
    applied = []
    for process in released(processes):
        said, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors
        applied.append(json.loads(said))
    assert sorted(applied) == [[], [], [], NUMBERS]


async def test_a_migration_that_was_killed_at_any_statement_can_be_run_again(
    pool: Pool, schema: str, postgres_server: PostgresAddress
) -> None:
    statement = 0
    while True:
        [process] = released([start(postgres_server.url, schema, statement)])
        said, errors = process.communicate(timeout=SECONDS)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors
        assert said == ""
        assert schema not in schemas(postgres_server)
        statement += 1
    assert json.loads(said) == NUMBERS
    assert statement == sum(len(BEGINNING.findall(migration.sql)) for migration in migrations("postgres"))
    assert await migrate_postgres_event_store(pool, schema) == []


async def test_a_migration_that_fails_leaves_nothing_and_its_connection_is_used_no_more(
    schema: str, postgres_server: PostgresAddress
) -> None:
    fault = RaiseAt(CrashPoint.MID_MIGRATION, ZeroDivisionError, after=5)
    async with AsyncConnectionPool(postgres_server.url, min_size=1) as pool:
        before = await session_of(pool)
        with pytest.raises(ZeroDivisionError):
            await migrate_postgres_event_store(pool, schema, fault=fault)
        assert schema not in schemas(postgres_server)
        assert await session_of(pool) != before
        assert await migrate_postgres_event_store(pool, schema) == NUMBERS


async def session_of(pool: Pool) -> int:
    async with pool.connection() as connection:
        pid: int = connection.info.backend_pid
        return pid


@pytest.mark.parametrize("error", [ZeroDivisionError, None])
async def test_the_first_error_is_told_where_the_connection_is_lost_too(
    pool: Pool, schema: str, postgres_server: PostgresAddress, error: type[Exception] | None
) -> None:
    def cut(_point: CrashPoint) -> None:
        postgres_server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        )
        if error is not None:
            raise error

    with pytest.raises(error or StoreUnavailable) as caught:
        await migrate_postgres_event_store(pool, schema, fault=cut)
    assert "terminating" not in str(caught.value)
    assert schema not in schemas(postgres_server)
    assert await migrate_postgres_event_store(pool, schema) == NUMBERS


@pytest.mark.parametrize("end", ["SELECT pg_terminate_backend(pid)", "SELECT pg_cancel_backend(pid)"])
async def test_a_commit_whose_end_was_not_seen_is_told_of_and_the_next_run_settles_it(end: str) -> None:
    settings = {"synchronous_standby_names": "none_is_there"}
    with PostgresServer.start(binaries=binaries_for_tests(), settings=settings) as server:
        async with AsyncConnectionPool(server.url, min_size=1) as pool:
            with pytest.raises(OutcomeUnknown):
                await asyncio.gather(
                    migrate_postgres_event_store(pool), asyncio.to_thread(end_what_waits_for_a_standby, server, end)
                )
        async with AsyncConnectionPool(f"{server.url}?options=-csynchronous_commit%3Dlocal", min_size=1) as pool:
            assert await migrate_postgres_event_store(pool) == []


def end_what_waits_for_a_standby(server: PostgresServer, end: str) -> None:
    while not server.execute(f"{end} FROM pg_stat_activity WHERE wait_event = 'SyncRep'"):
        pass


async def test_a_cancelled_migration_leaves_nothing(pool: Pool, schema: str) -> None:
    def cancel(_point: CrashPoint) -> None:
        task.cancel()

    task = asyncio.ensure_future(migrate_postgres_event_store(pool, schema, fault=cancel))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await migrate_postgres_event_store(pool, schema) == NUMBERS


async def test_a_pool_without_a_server_is_told_of_in_our_words() -> None:
    url = "postgresql://somebody:secret@127.0.0.1:1/nowhere"
    pool: Pool = AsyncConnectionPool(url, min_size=1, timeout=0.1, open=False)
    with pytest.raises(StoreUnavailable) as closed:
        await migrate_postgres_event_store(pool)
    async with pool:
        with pytest.raises(StoreUnavailable) as caught:
            await migrate_postgres_event_store(pool)
    for error in (closed.value, caught.value):
        assert error.__suppress_context__
        assert not {"somebody", "secret", "127.0.0.1", "nowhere"} & set(str(error).replace(":", " ").split())


@pytest.mark.parametrize("name", UNSAFE_NAMES)
async def test_an_unsafe_schema_name_is_refused_before_anything_is_asked(name: str) -> None:
    never_opened: Pool = AsyncConnectionPool("", open=False)
    with pytest.raises(InvalidRequest):
        await migrate_postgres_event_store(never_opened, name)


@pytest.mark.parametrize("name", ["pausemesh", "_", "a" * 63, "mesh_2", "select"])
def test_a_safe_schema_name_passes(name: str) -> None:
    check_schema_name(name)


async def test_a_schema_may_have_a_name_that_is_a_word_of_sql(pool: Pool, postgres_server: PostgresAddress) -> None:
    try:
        assert await migrate_postgres_event_store(pool, "select") == NUMBERS
        assert await migrate_postgres_event_store(pool, "select") == []
    finally:
        postgres_server.execute('DROP SCHEMA IF EXISTS "select" CASCADE')


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("UPDATE @.migrations SET checksum = 'other'", SchemaChanged),
        ("UPDATE @.migrations SET number = 99", SchemaNewer),
        ("INSERT INTO @.migrations VALUES (99, 'later', '', now())", SchemaNewer),
        ("DELETE FROM @.migrations", SchemaMissing),
        ("ALTER TABLE @.migrations DROP COLUMN checksum", SchemaIncomplete),
        ("DROP TABLE @.migrations", SchemaIncomplete),
        ("DROP INDEX @.heads_due", SchemaIncomplete),
    ],
)
async def test_a_schema_that_was_changed_is_told_apart(
    pool: Pool, schema: str, postgres_server: PostgresAddress, script: str, error: type[PauseMeshError]
) -> None:
    assert type(await changed(pool, schema, postgres_server, script)) is error


async def test_something_else_under_a_needed_name_stays_as_it_is(
    pool: Pool, schema: str, postgres_server: PostgresAddress
) -> None:
    postgres_server.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.heads (theirs integer)")
    with pytest.raises(SchemaIncomplete, match="something else"):
        await migrate_postgres_event_store(pool, schema)
    tables = postgres_server.execute("SELECT schemaname, tablename FROM pg_tables")
    assert [table for of, table in tables if of == schema] == ["heads"]


async def test_a_role_without_the_right_to_create_is_refused(schema: str, postgres_server: PostgresAddress) -> None:
    async with AsyncConnectionPool(postgres_server.new_role(f"{schema}_reader"), min_size=1) as pool:
        with pytest.raises(StoreUnsafe, match="may not create"):
            await migrate_postgres_event_store(pool, schema)


async def test_an_owner_without_the_right_to_create_schemas_fills_one_that_is_there(
    schema: str, postgres_server: PostgresAddress
) -> None:
    url = postgres_server.new_role(f"{schema}_owner")
    postgres_server.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {schema}_owner")
    async with AsyncConnectionPool(url, min_size=1) as pool:
        assert await migrate_postgres_event_store(pool, schema) == NUMBERS


async def test_a_database_of_another_encoding_is_refused(postgres_server: PostgresAddress) -> None:
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS of_latin")
        connection.execute("CREATE DATABASE of_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = postgres_server.url_of(database="of_latin")
    async with AsyncConnectionPool(url, min_size=1) as pool:
        with pytest.raises(StoreUnsafe, match="UTF8"):
            await migrate_postgres_event_store(pool)
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE of_latin")


async def test_a_host_that_wants_another_isolation_and_no_autocommit_can_migrate(
    schema: str, postgres_server: PostgresAddress
) -> None:
    options = {"options": "-c default_transaction_isolation=serializable -c default_transaction_read_only=on"}
    async with AsyncConnectionPool(postgres_server.url, min_size=1, kwargs=options) as pool:
        assert await migrate_postgres_event_store(pool, schema) == NUMBERS
