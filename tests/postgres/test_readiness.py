"""A database is ready where it keeps what it acknowledges, holds exactly our schema, and gives our role its rights."""

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import (
    PauseMeshError,
    SchemaChanged,
    SchemaIncomplete,
    SchemaMissing,
    SchemaNewer,
    StoreUnavailable,
    StoreUnsafe,
)
from pausemesh.stores.postgres_readiness import check_ready
from pausemesh.stores.postgres_roles import grants
from pausemesh.stores.postgres_schema import check_server, migrate_postgres_event_store
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own

SECONDS = 60


class Place:
    """A schema that was migrated, and a role that serves it."""

    def __init__(self, server: PostgresAddress, schema: str) -> None:
        self.server = server
        self.schema = schema
        self.role = f"{schema}_server"

    async def make(self, *, continuations_only: bool = False) -> None:
        async with AsyncConnectionPool(self.server.url, min_size=1) as pool:
            await migrate_postgres_event_store(pool, self.schema)
        self.server.execute(f"CREATE ROLE {self.role} LOGIN")
        self.server.execute(grants(self.schema, self.role, continuations_only=continuations_only))

    def execute(self, script: str) -> None:
        """Run SQL as superuser; an @ stands for the schema, and $ for the role."""
        for sql in re.split(r"(?<!\\);", script.replace("@", self.schema).replace("$", self.role)):
            self.server.execute(sql.replace("\\;", ";"))

    async def check(self, *, continuations_only: bool = False, role: str | None = None, options: str = "") -> None:
        async with session_of(self.server.url_of(role or self.role), options) as session:
            deadline = time.monotonic() + SECONDS
            await check_ready(session, self.schema, deadline=deadline, continuations_only=continuations_only)

    async def refusal(self, *, role: str | None = None, options: str = "") -> PauseMeshError:
        with pytest.raises(PauseMeshError) as caught:
            await self.check(role=role, options=options)
        assert self.schema not in str(caught.value)
        assert self.role not in str(caught.value)
        return caught.value


@asynccontextmanager
async def session_of(url: str, options: str) -> AsyncIterator[PostgresSession]:
    pool: AsyncConnectionPool[Any]
    async with AsyncConnectionPool(url, min_size=1, kwargs={"options": options}) as pool:
        session = await PostgresSession.open(pool, deadline=time.monotonic() + SECONDS, prepare=False)
        try:
            yield session
        finally:
            await session.close()


@pytest.fixture(scope="module")
def durable_server() -> Iterator[PostgresServer]:
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        yield server


@pytest.fixture
async def place(durable_server: PostgresServer) -> AsyncIterator[Place]:
    with schema_of_its_own(durable_server) as schema:
        made = Place(durable_server, schema)
        await made.make()
        yield made


async def test_a_migrated_schema_is_ready_for_the_role_that_was_granted_its_rights(place: Place) -> None:
    await place.check()
    await place.check(continuations_only=True)


async def test_readiness_neither_minds_how_names_are_searched_and_written_nor_changes_it(place: Place) -> None:
    options = f"-c search_path={place.schema} -c quote_all_identifiers=on"
    async with session_of(place.server.url_of(place.role), options) as session:
        deadline = time.monotonic() + SECONDS
        await check_ready(session, place.schema, deadline=deadline)
        kept = f"current_setting('search_path') = '{place.schema}' AND current_setting('quote_all_identifiers') = 'on'"
        await session.run(f"DO $$ BEGIN ASSERT {kept}; END $$".encode(), deadline=deadline)


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("DROP TRIGGER events_refuse_change ON @.events", "trigger events.events_refuse_change is missing"),
        (
            "ALTER TABLE @.events DISABLE TRIGGER events_refuse_change",
            "trigger events.events_refuse_change is altered",
        ),
        (
            "ALTER TABLE @.heads ENABLE REPLICA TRIGGER heads_refuse_delete",
            "trigger heads.heads_refuse_delete is altered",
        ),
        (
            (
                "DROP TRIGGER events_refuse_change ON @.events; CREATE TRIGGER events_refuse_change"
                " BEFORE UPDATE OR DELETE OR TRUNCATE ON @.beats FOR EACH STATEMENT EXECUTE FUNCTION @.refuse_change()"
            ),
            "trigger events.events_refuse_change is missing",
        ),
        (
            (
                "CREATE FUNCTION @.let_pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL\\; END';"
                " CREATE OR REPLACE TRIGGER events_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON @.events"
                " FOR EACH STATEMENT EXECUTE FUNCTION @.let_pass()"
            ),
            "trigger events.events_refuse_change is altered",
        ),
        (
            (
                "CREATE OR REPLACE TRIGGER events_refuse_change BEFORE DELETE OR TRUNCATE ON @.events"
                " FOR EACH STATEMENT EXECUTE FUNCTION @.refuse_change()"
            ),
            "trigger events.events_refuse_change is altered",
        ),
        (
            (
                "CREATE OR REPLACE TRIGGER events_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON @.events"
                " FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION @.refuse_change()"
            ),
            "trigger events.events_refuse_change is altered",
        ),
        (
            "CREATE TRIGGER of_somebody AFTER INSERT ON @.events FOR EACH STATEMENT EXECUTE FUNCTION @.refuse_change()",
            "table events has a trigger that does not belong to it",
        ),
        (
            "CREATE RULE of_somebody AS ON INSERT TO @.events DO INSTEAD NOTHING",
            "table events has a rule that does not belong to it",
        ),
        (
            (
                "CREATE OR REPLACE FUNCTION @.refuse_change() RETURNS trigger LANGUAGE plpgsql"
                " AS 'BEGIN RETURN NULL\\; END'"
            ),
            "function refuse_change is altered",
        ),
        ("ALTER FUNCTION @.beat_1 SECURITY DEFINER", "function beat_1 is altered"),
        ("ALTER FUNCTION @.beat_1 SET synchronous_commit = off", "function beat_1 is altered"),
        ("CREATE FUNCTION @.beat_1(text) RETURNS void LANGUAGE sql AS ''", "function beat_1 is altered"),
        ("DROP FUNCTION @.beat_1", "function beat_1 is missing"),
        ("DROP INDEX @.heads_due", "index heads.heads_due is missing"),
        ("DROP INDEX @.heads_due; CREATE INDEX heads_due ON @.heads (due_at)", "index heads.heads_due is altered"),
        (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '@.heads_due'::regclass",
            "index heads.heads_due is altered",
        ),
        (
            "ALTER TABLE @.events DROP CONSTRAINT events_version_check",
            "constraint events.events_version_check is missing",
        ),
        ("ALTER TABLE @.beats DROP CONSTRAINT beats_pkey", "constraint beats.beats_pkey is missing"),
        ("ALTER TABLE @.events ALTER type DROP NOT NULL", "table events is altered"),
        ("ALTER TABLE @.events ALTER type TYPE varchar(9)", "table events is altered"),
        ('ALTER TABLE @.beats ALTER scope TYPE text COLLATE "POSIX"', "table beats is altered"),
        ("ALTER TABLE @.audit_log DROP note", "table audit_log is altered"),
        ("ALTER TABLE @.audit_log ADD more text", "table audit_log is altered"),
        ("ALTER TABLE @.beats ALTER beat_at SET DEFAULT now()", "table beats is altered"),
        ("ALTER TABLE @.beats SET UNLOGGED", "table beats is altered"),
        ("ALTER TABLE @.heads ENABLE ROW LEVEL SECURITY", "table heads is altered"),
        ("ALTER TABLE @.beats RENAME TO beaten", "constraint beats.beats_pkey is missing"),
        ("ALTER TYPE @.flush_row ADD ATTRIBUTE more text CASCADE", "type flush_row is altered"),
    ],
)
async def test_an_object_that_is_missing_or_altered_is_named(place: Place, script: str, what: str) -> None:
    place.execute(script)
    refused = await place.refusal()
    assert type(refused) is SchemaIncomplete
    assert refused.detail == f"The {what}."


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE @.of_the_host (id integer PRIMARY KEY)",
        "CREATE INDEX of_the_operator ON @.events (type)",
        "CREATE TABLE @.of_the_host (seq bigint REFERENCES @.events (seq))",
        "CREATE VIEW @.shown AS SELECT stream FROM @.heads",
        "ALTER TABLE @.events SET (autovacuum_enabled = off)",
        (
            "CREATE TABLE @.of_the_host (); CREATE TRIGGER of_the_host BEFORE DELETE ON @.of_the_host"
            " EXECUTE FUNCTION @.refuse_change()"
        ),
    ],
)
async def test_what_harms_nothing_may_be_added(place: Place, script: str) -> None:
    place.execute(script)
    await place.check()


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("UPDATE @.migrations SET checksum = 'other'", SchemaChanged),
        ("INSERT INTO @.migrations VALUES (99, 'later', '', now())", SchemaNewer),
        ("DELETE FROM @.migrations", SchemaMissing),
        ("DROP TABLE @.migrations", SchemaMissing),
        ("DROP SCHEMA @ CASCADE", SchemaMissing),
    ],
)
async def test_a_ledger_that_is_not_this_releases_is_told_apart(
    place: Place, script: str, error: type[PauseMeshError]
) -> None:
    place.server.execute(f"SET session_replication_role = replica; {script.replace('@', place.schema)}")
    assert type(await place.refusal()) is error


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("REVOKE SELECT ON @.events FROM $", "SELECT TABLE events"),
        ("REVOKE SELECT ON @.migrations FROM $", "SELECT TABLE migrations"),
        ("REVOKE INSERT, UPDATE ON @.beats FROM $", "INSERT TABLE beats, UPDATE TABLE beats"),
        ("REVOKE INSERT ON @.audit_log FROM $", "INSERT TABLE audit_log"),
        ("REVOKE EXECUTE ON FUNCTION @.append_one_1 FROM $", "EXECUTE FUNCTION append_one_1"),
        ("REVOKE USAGE ON SCHEMA @ FROM $", "USAGE SCHEMA"),
    ],
)
async def test_a_right_that_the_role_lacks_is_named(place: Place, script: str, what: str) -> None:
    place.execute(script)
    refused = await place.refusal()
    assert type(refused) is StoreUnsafe
    assert refused.detail == f"The role lacks rights: {what}."


async def test_the_narrow_role_is_ready_for_continuations_and_not_for_more(durable_server: PostgresServer) -> None:
    with schema_of_its_own(durable_server) as schema:
        place = Place(durable_server, schema)
        await place.make(continuations_only=True)
        await place.check(continuations_only=True)
        assert "INSERT TABLE audit_log" in str(await place.refusal())


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ("-c synchronous_commit=off", StoreUnsafe, "synchronous_commit must be on"),
        ("-c default_transaction_isolation=serializable", StoreUnsafe, "isolation must be read committed"),
        ("-c default_transaction_read_only=on", StoreUnavailable, "takes no writes"),
    ],
)
async def test_a_setting_of_the_connection_that_loses_or_refuses_answers_is_named(
    place: Place, options: str, error: type[PauseMeshError], what: str
) -> None:
    refused = await place.refusal(options=options)
    assert type(refused) is error
    assert what in str(refused)


@pytest.mark.parametrize("options", ["local", "remote_write", "remote_apply"])
async def test_a_commit_may_wait_for_a_disk_in_several_ways(place: Place, options: str) -> None:
    await place.check(options=f"-c synchronous_commit={options}")


async def test_triggers_must_act_for_the_role(place: Place) -> None:
    place.execute("ALTER ROLE $ SET session_replication_role = replica")
    assert "session_replication_role" in str(await place.refusal())


async def test_a_superuser_does_not_serve(place: Place) -> None:
    refused = await place.refusal(role="postgres")
    assert type(refused) is StoreUnsafe
    assert "superuser" in str(refused)


async def test_a_role_that_became_a_superuser_does_not_go_on_serving(place: Place) -> None:
    async with session_of(place.server.url_of(place.role), "") as session:
        await check_ready(session, place.schema, deadline=time.monotonic() + SECONDS)
        place.execute("ALTER ROLE $ SUPERUSER")
        with pytest.raises(StoreUnsafe, match="superuser"):
            await check_ready(session, place.schema, deadline=time.monotonic() + SECONDS)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
async def test_a_server_that_forgets_at_a_power_cut_is_not_ready(setting: str) -> None:
    with PostgresServer.start(binaries=binaries_for_tests(), settings={setting: "off"}, durable=True) as server:
        place = Place(server, "pausemesh")
        await place.make()
        with pytest.raises(StoreUnsafe, match=f"{setting} must be on"):
            await place.check()


async def test_a_standby_asks_for_more_than_local_commits_and_is_ready_when_it_has_taken_over(place: Place) -> None:
    assert isinstance(place.server, PostgresServer)
    with place.server.standby() as standby:
        place.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'; SELECT pg_reload_conf()")
        try:
            while place.server.execute("SHOW synchronous_standby_names") != [("standby",)]:
                pass
            await place.check()
            assert "synchronous_commit" in str(await place.refusal(options="-c synchronous_commit=local"))
        finally:
            place.execute("ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
        there = Place(standby, place.schema)
        refused = await there.refusal()
        assert type(refused) is StoreUnavailable
        assert "standby" in str(refused)
        standby.promote()
        await there.check()


@pytest.mark.parametrize(("version", "encoding"), [(130021, "UTF8"), (180006, "SQL_ASCII"), (180006, "LATIN1")])
def test_an_old_server_and_another_encoding_are_refused(version: int, encoding: str) -> None:
    with pytest.raises(StoreUnsafe):
        check_server(version, encoding)


@pytest.mark.parametrize("version", [140000, 180006])
def test_a_server_that_is_new_enough_passes(version: int) -> None:
    check_server(version, "UTF8")
