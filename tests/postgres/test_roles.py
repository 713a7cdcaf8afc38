"""A role has what it needs at run time, and nothing by which what is stored could be changed or removed."""

import asyncio
import re
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, RestrictViolation
from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import InvalidRequest
from pausemesh.stores.postgres_roles import grants
from pausemesh.stores.postgres_schema import migrate_postgres_event_store
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own

Does = Callable[[str, str], None]

LASTING = ["audit_log", "events", "heads", "migrations"]
TABLES = [*LASTING, "beats"]
CALLS = [
    "SELECT @.take_turn_1('1s')",
    "SELECT @.beat_1(now(), '1s', '{}', '{}')",
    "SELECT @.change_claims_1(now(), '1s', '{}', '{}', '{}', '{}', '{}', '{}')",
]
NEEDED = [
    *map("TABLE @.{}".format, TABLES),
    "INSERT INTO @.events VALUES (1, '', '', 1, gen_random_uuid(), '', now(), '')",
    (
        "INSERT INTO @.heads (scope, stream, version, kind, status, open, correlation, created_at, updated_at, fence,"
        " attempts) VALUES ('', '', 1, '', '', true, '', now(), now(), 0, 0); UPDATE @.heads SET version = 2"
    ),
    CALLS[0],
    CALLS[2],
]
FORBIDDEN = [
    "CREATE TABLE @.of_mine ()",
    "CREATE FUNCTION @.of_mine() RETURNS void LANGUAGE sql AS ''",
    "ALTER TABLE @.events ADD more text",
    "ALTER TABLE @.events DISABLE TRIGGER events_refuse_change",
    "ALTER TABLE @.events DISABLE TRIGGER ALL",
    "DROP TRIGGER events_refuse_change ON @.events",
    "CREATE TRIGGER of_mine BEFORE INSERT ON @.events EXECUTE FUNCTION @.refuse_change()",
    "CREATE RULE of_mine AS ON INSERT TO @.events DO INSTEAD NOTHING",
    "CREATE OR REPLACE FUNCTION @.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE INDEX ON @.events (type)",
    "DROP TABLE @.events",
    "DROP SCHEMA @ CASCADE",
    "SET session_replication_role = replica",
    "UPDATE @.events SET data = ''",
    "UPDATE @.audit_log SET note = ''",
    "UPDATE @.migrations SET checksum = ''",
    "INSERT INTO @.migrations VALUES (99, '', '', now())",
    "SELECT @.refuse_change()",
    *map("DELETE FROM @.{}".format, TABLES),
    *map("TRUNCATE @.{} CASCADE".format, TABLES),
]
FORBIDDEN_TO_THE_NARROW = [
    "INSERT INTO @.audit_log VALUES ('', now(), gen_random_uuid(), '', '', '', '', '', NULL, NULL)",
    "INSERT INTO @.beats VALUES ('', '', now())",
    "UPDATE @.beats SET beat_at = now()",
    CALLS[1],
]
REFUSED_TO_EVERYBODY = [
    *map("DELETE FROM @.{}".format, LASTING),
    *map("TRUNCATE @.{}".format, LASTING),
    "UPDATE @.events SET data = data",
    "UPDATE @.audit_log SET note = note",
    "UPDATE @.migrations SET name = name",
]


@pytest.fixture(scope="module")
def made(postgres_server: PostgresAddress) -> Iterator[str]:
    """The name of a schema that was migrated; nothing that is done in it stays."""
    with schema_of_its_own(postgres_server) as name:
        asyncio.run(migrate(postgres_server.url, name))
        yield name


@pytest.fixture(scope="module")
def urls(postgres_server: PostgresAddress, made: str) -> dict[str, str]:
    """The addresses for roles: the owner, two that were granted rights, and one that was not."""
    found = {role: postgres_server.new_role(f"{made}_{role}") for role in ("server", "narrow", "stranger")}
    postgres_server.execute(grants(made, f"{made}_server"))
    postgres_server.execute(grants(made, f"{made}_narrow", continuations_only=True))
    postgres_server.execute(f"GRANT USAGE ON SCHEMA {made} TO {made}_stranger")
    return {**found, "owner": postgres_server.url}


async def migrate(url: str, schema: str) -> None:
    async with AsyncConnectionPool(url, min_size=1) as pool:
        await migrate_postgres_event_store(pool, schema)


@pytest.fixture
def does(urls: dict[str, str], made: str) -> Does:
    """Runs SQL as a role, @ standing for the schema, and undoes it."""

    def run(role: str, script: str) -> None:
        with psycopg.connect(urls[role]) as connection:
            connection.execute(script.replace("@", made).encode())
            connection.rollback()

    return run


def test_the_grants_name_no_right_to_remove_or_to_watch() -> None:
    for continuations_only in (False, True):
        script = grants("pausemesh", "server", continuations_only=continuations_only)
        rights = {line.split(" ON ")[0] for line in script.splitlines()}
        assert rights == {"GRANT USAGE", "GRANT SELECT", "GRANT INSERT", "GRANT UPDATE", "GRANT EXECUTE"}


def test_the_narrow_grants_are_some_of_the_grants_for_everything() -> None:
    everything = set(grants("mesh", "server").splitlines())
    narrow = set(grants("mesh", "server", continuations_only=True).splitlines())
    assert everything - narrow == {
        'GRANT INSERT ON TABLE "mesh"."audit_log" TO "server";',
        'GRANT INSERT ON TABLE "mesh"."beats" TO "server";',
        'GRANT UPDATE ON TABLE "mesh"."beats" TO "server";',
        'GRANT EXECUTE ON FUNCTION "mesh"."beat_1" TO "server";',
    }
    assert narrow < everything


@pytest.mark.parametrize("role", ["server", "narrow"])
@pytest.mark.parametrize("script", NEEDED)
def test_a_role_can_do_what_the_life_of_continuations_needs(does: Does, role: str, script: str) -> None:
    does(role, script)


@pytest.mark.parametrize("role", ["server", "narrow"])
@pytest.mark.parametrize("script", FORBIDDEN)
def test_a_role_cannot_change_what_is_stored_or_how(does: Does, role: str, script: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        does(role, script)


@pytest.mark.parametrize("script", FORBIDDEN_TO_THE_NARROW)
def test_the_role_for_continuations_cannot_write_the_rest_and_the_other_can(does: Does, script: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        does("narrow", script)
    does("server", script)


@pytest.mark.parametrize("script", REFUSED_TO_EVERYBODY)
def test_the_triggers_stop_the_owner_too(does: Does, script: str) -> None:
    with pytest.raises(RestrictViolation):
        does("owner", script)


@pytest.mark.parametrize("script", ["TABLE @.heads", *CALLS])
def test_a_stranger_can_neither_read_nor_call(does: Does, script: str) -> None:
    with pytest.raises(InsufficientPrivilege):
        does("stranger", script)


@pytest.mark.parametrize("name", ["Server", "web-1", 'a"b', "a b", "rôle", "select", "r" * 63])
def test_a_role_may_have_any_name_that_postgresql_takes(postgres_server: PostgresAddress, made: str, name: str) -> None:
    quoted = '"{}"'.format(name.replace('"', '""'))
    postgres_server.execute(f"CREATE ROLE {quoted}")
    try:
        postgres_server.execute(grants(made, name))
    finally:
        postgres_server.execute(f"DROP OWNED BY {quoted}; DROP ROLE {quoted}")


@pytest.mark.parametrize("name", ["", "public", "none", "pg_monitor", "a\nb", "a\x00", "r" * 64, "ö" * 32, "\ud800"])
def test_a_name_that_is_no_roles_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        grants("pausemesh", name)


def test_an_unsafe_schema_name_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        grants('mesh"; DROP SCHEMA public; --', "server")


def test_a_right_stands_in_a_line_of_its_own() -> None:
    for line in grants("mesh", "server").splitlines():
        assert re.fullmatch(r'GRANT [A-Z]+ ON [A-Z]+ "mesh"(?:\."\w+")? TO "server";', line)
