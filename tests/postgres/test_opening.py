"""A mesh is opened by the address of a database, and nothing that is said of it has a word of that address."""

import asyncio
import gc
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

import pausemesh
from pausemesh.core.errors import ForkedMesh
from pausemesh.stores.postgres_pool import read_address
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from tests.postgres.conftest import Prepared, migrate

SECONDS = 30.0
SECRETS = ("sesame", "hushed_user", "hushed_db", "127.0.0.1", "localhost", "hushed.invalid", "postgresql://")


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """Returns all that was logged at any level, by whomever."""
    loggers = [logging.getLogger(name) for name in ("psycopg", "psycopg.pool", "asyncio")]
    before = [logger.level for logger in loggers]
    caplog.set_level(logging.DEBUG)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    yield lambda: caplog.text
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may end."""
    with PostgresServer.start(binaries=binaries_for_tests()) as server:
        server.execute("CREATE ROLE hushed_user LOGIN SUPERUSER PASSWORD 'sesame'")
        server.execute("CREATE DATABASE hushed_db")
        asyncio.run(migrate(server.url_of(database="hushed_db"), "pausemesh"))
        (server.data / "pg_hba.conf").write_text("host all postgres all trust\nhost all all all scram-sha-256\n")
        server.execute("SELECT pg_reload_conf()")
        yield server


def told_by(error: BaseException) -> str:
    """All that an error can tell, with those that led to it."""
    texts = [*traceback.format_exception(error)]
    seen: list[BaseException] = []
    chain: list[BaseException | None] = [error]
    while chain:
        one = chain.pop()
        if one is not None and one not in seen:
            seen.append(one)
            texts += [str(one), repr(one), repr(one.args)]
            chain += [one.__cause__, one.__context__]
    return "\n".join(texts)


def without_code(text: str) -> str:
    """A traceback without the lines of this file, which have the secrets in them."""
    return "\n".join(line for line in text.splitlines() if "open_sync(" not in line)


async def test_a_mesh_is_opened_by_an_address(prepared: Prepared) -> None:
    async with pausemesh.open(prepared.url, schema=prepared.schema) as mesh:
        asked = await mesh.create(payload="?")
    async with pausemesh.open(prepared.url, schema=prepared.schema) as mesh:
        assert (await mesh.inspect(asked.continuation.id)).status == "pending"


async def test_an_opening_can_be_entered_again(prepared: Prepared) -> None:
    opening = pausemesh.open(prepared.url, schema=prepared.schema)
    for _ in range(2):
        async with opening as mesh:
            await mesh.create(payload="?")


def test_code_that_blocks_asks_answers_and_goes_on(prepared: Prepared) -> None:
    with pausemesh.open_sync(prepared.url, schema=prepared.schema) as mesh:
        asked = mesh.create(payload="?")
        id = asked.continuation.id
        mesh.resume(id, token=asked.resume_token or "", idempotency_key="k", payload="yes")
        with mesh.claim(id) as turn:
            assert turn.effect("book", arguments={}, run=lambda: "done") == "done"
        assert mesh.verify().is_sound


def test_a_connection_that_a_store_gives_back_is_nothing_to_warn_of(
    prepared: Prepared, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    with pausemesh.open_sync(prepared.url, schema=prepared.schema) as mesh:
        mesh.create(payload="?")
    assert caplog.messages == []


def test_the_callers_clock_decides(prepared: Prepared) -> None:
    clock = ManualClock()
    with pausemesh.open_sync(prepared.url, schema=prepared.schema, clock=clock) as mesh:
        asked = mesh.create(payload="?", expires_in=timedelta(minutes=1))
        clock.advance(timedelta(minutes=2))
        with pytest.raises(pausemesh.Expired):
            mesh.resume(asked.continuation.id, token=asked.resume_token or "", idempotency_key="k", payload="late")


def test_whoever_owns_the_database_may_open_it(prepared: Prepared) -> None:
    with pausemesh.open_sync(prepared.server.url, schema=prepared.schema) as mesh:
        mesh.create(payload="?")


def test_the_connections_have_a_name_and_are_given_back(prepared: Prepared) -> None:
    of_role = f"SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = '{prepared.role}'"  # noqa: S608 - ours
    with pausemesh.open_sync(prepared.url, schema=prepared.schema) as mesh:
        mesh.create(payload="?")
        assert prepared.server.execute(of_role) == [("pausemesh",)]
    deadline = time.monotonic() + SECONDS
    while prepared.server.execute(of_role):
        assert time.monotonic() < deadline
    with pausemesh.open_sync(f"{prepared.url}?application_name=desk", schema=prepared.schema):
        assert prepared.server.execute(of_role) == [("desk",)]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("DROP SCHEMA @ CASCADE", pausemesh.SchemaMissing),
        ("DROP TRIGGER events_refuse_change ON @.events", pausemesh.SchemaIncomplete),
        (
            "ALTER TABLE @.migrations DISABLE TRIGGER ALL; UPDATE @.migrations SET checksum = 'x'",
            pausemesh.SchemaChanged,
        ),
        ("INSERT INTO @.migrations VALUES (99, 'later', 'x', now())", pausemesh.SchemaNewer),
    ],
)
def test_a_schema_that_is_not_this_releases_is_refused_on_entering(
    prepared: Prepared, script: str, error: type[pausemesh.PauseMeshError]
) -> None:
    prepared.server.execute(script.replace("@", prepared.schema))
    with pytest.raises(error), pausemesh.open_sync(prepared.server.url, schema=prepared.schema):
        pass


def test_a_role_without_rights_is_refused_on_entering(prepared: Prepared) -> None:
    prepared.server.execute(f"CREATE ROLE {prepared.schema}_stranger LOGIN")
    url = prepared.server.url_of(f"{prepared.schema}_stranger")
    with pytest.raises(pausemesh.StoreUnsafe, match="print-roles"), pausemesh.open_sync(url, schema=prepared.schema):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_refused(prepared: Prepared) -> None:
    with pausemesh.open_sync(prepared.url, schema=prepared.schema) as mesh:
        mesh.create(payload="?")
        child = os.fork()
        if not child:
            try:
                mesh.list()
            except ForkedMesh:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        mesh.create(payload="?")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://hushed_user:sesame@127.0.0.1:1/hushed_db",
        "postgresql://hushed_user:sesame@hushed.invalid/hushed_db",
        "postgresql://hushed_user:sesame@127.0.0.1:1,localhost:1/hushed_db",
        "postgresql://hushed_user:sesame@127.0.0.1/hushed_db?sslmode=verify-full&sslrootcert=/hushed.invalid",
        "postgresql://hushed_user:sesame@/hushed_db?host=/hushed.invalid",
        "postgresql://hushed_user:sesame@127.0.0.1:99999/hushed_db",
    ],
)
def test_a_server_that_is_not_there_is_told_without_its_address(everything: Callable[[], str], url: str) -> None:
    opening = pausemesh.open_sync(url)
    with pytest.raises(pausemesh.StoreUnavailable, match="cannot be reached") as refused, opening:
        pass
    told = without_code(told_by(refused.value)) + everything() + repr(opening)
    assert [secret for secret in SECRETS if secret in told] == []


def test_a_wrong_password_is_told_without_it(own_server: PostgresServer, everything: Callable[[], str]) -> None:
    good = own_server.url_of("hushed_user", "sesame", database="hushed_db")
    opening = pausemesh.open_sync(good.replace("sesame", "sesame_seed"))
    with pytest.raises(pausemesh.StoreUnavailable, match="does not let this role in") as refused, opening:
        pass
    told = without_code(told_by(refused.value)) + everything() + repr(opening)
    assert [secret for secret in SECRETS if secret in told] == []
    with pausemesh.open_sync(good) as mesh:
        mesh.create(payload="?")


def test_a_server_that_goes_and_comes_back_is_told_without_its_address_and_found_again(
    own_server: PostgresServer, everything: Callable[[], str]
) -> None:
    url = own_server.url_of("hushed_user", "sesame", database="hushed_db")
    told = ""
    with pausemesh.open_sync(url) as mesh:
        asked = mesh.create(payload="?")
        own_server.kill()
        with pytest.raises(pausemesh.StoreError) as refused:
            mesh.create(payload="?")
        told += without_code(told_by(refused.value))
        own_server.start_again()
        deadline = time.monotonic() + SECONDS
        while not answers(mesh, asked):
            assert time.monotonic() < deadline
        own_server.stop()
    gc.collect()
    told += everything()
    assert "psycopg.pool" in told
    assert [secret for secret in SECRETS if secret in told] == []


def answers(mesh: pausemesh.BlockingMesh, asked: pausemesh.CreatedContinuation) -> bool:
    try:
        mesh.resume(asked.continuation.id, token=asked.resume_token or "", idempotency_key="k", payload="yes")
    except pausemesh.StoreError:
        return False
    return True


def test_what_an_address_says_wins_over_what_is_usual() -> None:
    assert "connect_timeout=5" in read_address("postgresql://host/db")
    assert "connect_timeout=60" in read_address("postgresql://host/db?connect_timeout=60")
