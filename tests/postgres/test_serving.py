"""Several server processes on one PostgreSQL database are one server, under a role that has no right too many."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.testing.postgres import URL_VARIABLE, PostgresServer, binaries_for_tests, server_for_tests
from pausemesh.testing.postgres_address import PostgresAddress
from tests.environment import without_settings
from tests.postgres.conftest import Prepared, migrate
from tests.server.calls import Wish
from tests.server.harness import SECONDS, Client, Wire
from tests.server.served import Served

SHARED = {"PAUSEMESH_SECRET_KEYS": "s" * 32}
EMPTY_LEDGER = """
    ALTER TABLE @.migrations DISABLE TRIGGER ALL; DELETE FROM @.migrations; ALTER TABLE @.migrations ENABLE TRIGGER ALL
"""


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresAddress]:
    """One that flushes what it commits, since a server starts on no other."""
    if URL_VARIABLE in os.environ:
        with server_for_tests() as given:
            yield given
        return
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        (server.data / "pg_hba.conf").write_text("host all postgres all trust\nhost all all all scram-sha-256\n")
        server.execute("SELECT pg_reload_conf()")
        yield server


def settings_of(prepared: Prepared) -> dict[str, Any]:
    return {"PAUSEMESH_DATABASE_URL": prepared.url, "PAUSEMESH_DATABASE_SCHEMA": prepared.schema, **SHARED}


def command(folder: Path, environment: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pausemesh", *words],
        cwd=folder,
        env={**without_settings(), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def key_for(folder: Path, environment: dict[str, Any], role: str = "admin") -> str:
    done = command(folder, environment, "keys", "create", "--role", role)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.fixture
def pair(prepared: Prepared, tmp_path: Path) -> Iterator[tuple[Client, Client]]:
    """Clients of two servers on one database, with an editor's key."""
    environment = settings_of(prepared)
    with Served(tmp_path, **environment) as first, Served(tmp_path, "--parser", "h11", **environment) as second:
        key = key_for(tmp_path, environment, "editor")
        with first.client(key) as one, second.client(key) as other:
            yield one, other
        assert [first.signal().wait(), second.signal().wait()] == [0, 0]
        assert prepared.url not in first.said + second.said


def path_of(created: Any, verb: str = "") -> str:
    return f"/v1/continuations/{created['continuation']['continuationId']}{verb}"


def test_a_question_of_one_server_is_answered_on_another_and_both_tell_the_same_outcome(
    pair: tuple[Client, Client],
) -> None:
    one, other = pair
    assert other.get("/readyz").json["status"] == "ready"
    created = one.ask(key="trip")
    first = other.resume(created, {"flight": "AZ1"})
    assert (first.status, first.json["replayed"]) == (200, False)
    again, there = one.resume(created, {"flight": "AZ1"}), other.resume(created, {"flight": "AZ1"})
    assert again.body == there.body
    assert again.body == first.body.replace(b'"replayed":false', b'"replayed":true')
    assert one.resume(created, {"flight": "AZ2"}, key="other").outcome == (409, "TOKEN_ALREADY_USED")
    assert one.get(path_of(created)).body == other.get(path_of(created)).body


def test_a_cursor_of_one_server_is_accepted_by_another(pair: tuple[Client, Client]) -> None:
    one, other = pair
    for _ in range(3):
        one.ask()
    page = one.get("/v1/continuations?limit=2").json
    rest = other.get(f"/v1/continuations?limit=2&cursor={page['nextCursor']}").json
    assert len({found["continuationId"] for found in page["continuations"] + rest["continuations"]}) == 3


def test_who_waits_on_one_server_is_woken_by_an_answer_on_another(pair: tuple[Client, Client]) -> None:
    one, other = pair
    created = one.ask()
    wish = Wish("GET", path_of(created, "?wait=25"), None, key=other.key)
    with Wire(other.port) as wire:
        wire.send(wish.wire())
        until(lambda: b"pausemesh_waiting 1.0" in other.get("/metrics").body)
        one.resume(created, "yes")
        assert wire.reply().json["continuation"]["status"] == "resumed"


def test_a_claim_passes_between_servers_and_its_effect_is_done_once(pair: tuple[Client, Client]) -> None:
    one, other = pair
    created = one.ask(queue="bookings")
    one.resume(created, "yes")
    taken = other.post("/v1/claims", {"queue": "bookings", "worker": "w", "leaseSeconds": 60}).json["claim"]
    effects = f"/v1/claims/{taken['claimId']}/effects"
    assert one.post(effects, {"fence": taken["fence"], "key": "book"}, key="try").status == 200
    outcome = {"fence": taken["fence"], "status": "completed", "result": "ticket"}
    assert other.post(f"{effects}/book/outcome", outcome).status == 200
    assert one.post(effects, {"fence": taken["fence"], "key": "book"}).json["replayed"] is True
    assert one.post(f"/v1/claims/{taken['claimId']}/done", {"fence": taken["fence"]}).status == 200


def test_the_whole_life_goes_under_the_printed_rights(prepared: Prepared, tmp_path: Path) -> None:
    role = f"{prepared.schema}_printed"
    url = prepared.server.new_role(role)
    printed = command(tmp_path, {}, "migrate", "--schema", prepared.schema, "--print-roles", "--role", role)
    assert (printed.returncode, printed.stderr) == (0, "")
    prepared.server.execute(printed.stdout)
    environment = settings_of(prepared) | {"PAUSEMESH_DATABASE_URL": url}
    key = key_for(tmp_path, environment)
    with Served(tmp_path, **environment) as served, served.client(key) as client:
        created = client.ask(correlationId="trip")
        cancelled = client.ask()
        assert client.post(path_of(cancelled, "/cancel"), {"reason": "off"}).status == 200
        assert client.resume(created, "yes").status == 200
        claim = client.post(path_of(created, "/claim"), {"worker": "w", "leaseSeconds": 60}).json["claim"]
        at, fence = f"/v1/claims/{claim['claimId']}", {"fence": claim["fence"]}
        assert client.post(f"{at}/renew", {**fence, "leaseSeconds": 60}).status == 200
        assert client.post(f"{at}/effects", {**fence, "key": "book"}, key="try").status == 200
        assert client.post(f"{at}/effects/book/outcome", {**fence, "status": "completed", "result": 1}).status == 200
        assert client.post(f"{at}/done", fence).status == 200
        assert client.get("/v1/continuations?status=resumed&correlationId=trip").status == 200
        assert client.get("/readyz").status == 200
    for words in (("keys", "list"), ("verify",), ("rebuild", "--dry-run"), ("rebuild",), ("doctor",), ("inbox",)):
        done = command(tmp_path, environment, *words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_the_printed_rights_for_continuations_are_enough_for_them_and_not_for_a_server(
    prepared: Prepared, tmp_path: Path
) -> None:
    role = f"{prepared.schema}_narrow"
    url = prepared.server.new_role(role)
    words = ("migrate", "--schema", prepared.schema, "--print-roles=continuations", "--role", role)
    prepared.server.execute(command(tmp_path, {}, *words).stdout)
    with pausemesh.open_sync(url, schema=prepared.schema) as mesh:
        created = mesh.create(payload="?")
        mesh.resume(created.continuation.id, token=created.resume_token or "", idempotency_key="k", payload=1)
        with mesh.claim(created.continuation.id) as turn:
            turn.effect("book", run=lambda: "done")
    done = command(tmp_path, settings_of(prepared) | {"PAUSEMESH_DATABASE_URL": url}, "serve", "--port", "0")
    assert (done.returncode, "The role lacks rights" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("DROP SCHEMA @ CASCADE", "Run pausemesh migrate"),
        (EMPTY_LEDGER, "Run pausemesh migrate"),
        ("INSERT INTO @.migrations VALUES (99, 'later', 'x', now())", "Use the release that made it"),
        ("ALTER TABLE @.events DISABLE TRIGGER ALL", "go back to a backup"),
        ("REVOKE INSERT ON @.events FROM @_server", "--print-roles"),
        ("ALTER ROLE @_server SUPERUSER", "The role is a superuser"),
        ("ALTER ROLE @_server SET default_transaction_read_only = on", "takes no writes"),
        ("ALTER ROLE @_server NOLOGIN", "does not let this role in"),
        ("ALTER ROLE @_server PASSWORD 'another'", "does not let this role in"),
    ],
)
def test_a_server_says_in_one_line_why_it_does_not_start_and_what_to_do(
    prepared: Prepared, tmp_path: Path, script: str, said: str
) -> None:
    prepared.server.execute(script.replace("@", prepared.schema))
    done = command(tmp_path, settings_of(prepared), "serve", "--port", "0")
    line = done.stderr.splitlines()[-1]
    assert (done.returncode, line.startswith("pausemesh: "), said in line) == (1, True, True), line
    assert not [word for word in (prepared.url, prepared.role, "127.0.0.1") if word in done.stderr + done.stdout]
    checked = command(tmp_path, settings_of(prepared), "doctor", "--json")
    [failed] = [check for check in json.loads(checked.stdout)["checks"] if check["state"] == "fail"]
    assert (checked.returncode, said in " ".join((failed["text"], failed["advice"]))) == (9, True)


def test_servers_that_share_a_database_must_be_given_the_secret_that_they_share(
    prepared: Prepared, tmp_path: Path
) -> None:
    alone = {name: value for name, value in settings_of(prepared).items() if name not in SHARED}
    done = command(tmp_path, alone, "serve", "--port", "0")
    assert (done.returncode, "PAUSEMESH_SECRET_KEYS or its file must be set" in done.stderr) == (1, True)
    checked = command(tmp_path, alone, "doctor", "--json")
    assert "PAUSEMESH_SECRET_KEYS or its file must be set" in checked.stdout
    assert [*tmp_path.iterdir()] == []


def test_the_doctor_looks_at_the_server_and_not_at_files(prepared: Prepared, tmp_path: Path) -> None:
    checks = json.loads(command(tmp_path, settings_of(prepared), "doctor", "--json").stdout)["checks"]
    assert [check["name"] for check in checks] == [
        "settings", "server", "schema", "integrity", "clock", "keys", "sweeper"
    ]  # fmt: skip
    assert [check["name"] for check in checks if check["state"] != "ok"] == ["keys"]


def test_dev_makes_a_secret_that_nobody_keeps(prepared: Prepared, tmp_path: Path) -> None:
    alone = {name: value for name, value in settings_of(prepared).items() if name not in SHARED}
    process = subprocess.Popen(
        [sys.executable, "-m", "pausemesh", "dev", "--port", "0"],
        cwd=tmp_path,
        env={**without_settings(), **alone},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process, contextlib.ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout is not None
        assert [process.stdout.readline()[:7], process.stdout.readline()[:9]] == ["API key", "PauseMesh"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    assert [*tmp_path.iterdir()] == []


def test_beyond_loopback_a_server_starts_once_there_is_a_key(prepared: Prepared, tmp_path: Path) -> None:
    environment = settings_of(prepared) | {"PAUSEMESH_HOST": "0.0.0.0"}  # noqa: S104 - what is tested
    done = command(tmp_path, environment, "serve", "--port", "0")
    assert done.returncode == 1
    assert done.stderr.endswith("make one with `pausemesh keys create --role admin`\n")
    key = key_for(tmp_path, environment)
    with Served(tmp_path, **environment) as served, served.client(key) as client:
        assert client.get("/v1/continuations").status == 200


def test_a_server_tells_that_its_database_is_gone_and_goes_on_once_it_is_back(tmp_path: Path) -> None:
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        asyncio.run(migrate(server.url, "pausemesh"))
        url = server.new_role("hushed_user")
        server.execute(command(tmp_path, {}, "migrate", "--print-roles", "--role", "hushed_user").stdout)
        environment: dict[str, Any] = {"PAUSEMESH_DATABASE_URL": url, "PAUSEMESH_LOG_LEVEL": "debug", **SHARED}
        with Served(tmp_path, **environment) as served, served.client() as client:
            created = client.ask()
            server.kill()
            assert client.get("/readyz").status == 503
            assert client.resume(created, "yes").status == 503
            server.start_again()
            until(lambda: client.get("/readyz").status == 200)
            until(lambda: client.resume(created, "yes").status == 200)
            assert served.signal().wait() == 0
            assert not [word for word in (url, "hushed_user", f"port={server.port}") if word in served.said]


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
