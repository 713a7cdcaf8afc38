"""The commands act on a PostgreSQL database as they do on a file, and `migrate` makes its schema."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.testing.postgres_address import PostgresAddress
from tests.environment import without_settings
from tests.postgres.conftest import Prepared
from tests.server.served import Served

FLIGHT: Any = {"message": "Which flight?", "responseSchema": {"enum": ["AZ1", "AZ2"]}}


class Command:
    """Runs the command in a folder, with this environment; nothing that it prints has an address in it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = environment

    def __call__(self, *words: str, code: int = 0, **environment: str) -> str:
        given = self.environment | environment
        done = subprocess.run(
            [sys.executable, "-m", "pausemesh", *words],
            cwd=self.folder,
            env={**without_settings(), "COLUMNS": "200", **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        told = done.stdout + done.stderr
        assert done.returncode == code, told
        assert "Traceback" not in told
        assert not [value for name, value in given.items() if "_URL" in name and value and value in told]
        assert "sesame" not in told
        return told


@pytest.fixture
def command(prepared: Prepared, tmp_path: Path) -> Command:
    """On the schema, under the role of a server."""
    return Command(tmp_path, PAUSEMESH_DATABASE_URL=prepared.url, PAUSEMESH_DATABASE_SCHEMA=prepared.schema)


@pytest.fixture
def migrating(postgres_server: PostgresAddress, schema: str, tmp_path: Path) -> Command:
    """On a schema that is not there yet, under a role that may make it."""
    return Command(tmp_path, PAUSEMESH_MIGRATION_DATABASE_URL=postgres_server.url, PAUSEMESH_DATABASE_SCHEMA=schema)


def asked(prepared: Prepared) -> str:
    with pausemesh.open_sync(prepared.url, schema=prepared.schema) as mesh:
        return mesh.create(payload=FLIGHT).continuation.id


def test_a_question_is_found_shown_and_answered(command: Command, prepared: Prepared) -> None:
    id = asked(prepared)
    assert id in command("inbox")
    assert json.loads(command("show", id, "--json"))["continuation"]["continuationId"] == id
    answered = json.loads(command("answer", id, "--json", '"AZ1"', "--idempotency-key", "k"))
    assert (answered["continuation"]["status"], answered["replayed"]) == ("resumed", False)
    assert json.loads(command("answer", id, "--json", '"AZ1"', "--idempotency-key", "k"))["replayed"] is True
    other = asked(prepared)
    command("cancel", other, "--reason", "off")
    command("show", "nothing", code=3)


def test_the_database_is_told_by_its_schema_and_never_by_its_address(command: Command, prepared: Prepared) -> None:
    name = f"PostgreSQL, schema {prepared.schema}"
    assert name in command("keys", "list")
    assert name in command("verify")
    assert name in command("inbox", PAUSEMESH_URL="http://127.0.0.1:1")


def test_a_key_is_made_listed_and_revoked(command: Command) -> None:
    made = json.loads(command("keys", "create", "--role", "agent", "--scope", "trips", "--json"))
    assert made["id"] in command("keys", "list")
    assert json.loads(command("keys", "revoke", made["id"], "--json"))["status"] == "revoked"


def test_damage_is_found_and_mended_under_the_role_of_a_server(command: Command, prepared: Prepared) -> None:
    id = asked(prepared)
    command("verify")
    prepared.server.execute(f"UPDATE {prepared.schema}.heads SET status = 'resumed'")  # noqa: S608 - ours
    assert id in command("verify", "--json", code=9)
    assert "1 head would be written" in command("rebuild", "--dry-run", code=9)
    assert "1 head written" in command("rebuild")
    assert "All is well" in command("verify")


def test_an_address_in_a_file_will_do(command: Command, prepared: Prepared) -> None:
    file = command.folder / "address"
    file.write_text(f"{prepared.url}\n", encoding="ascii")
    id = asked(prepared)
    assert id in command("inbox", PAUSEMESH_DATABASE_URL="", PAUSEMESH_DATABASE_URL_FILE=str(file))


def test_a_schema_of_the_settings_file_will_do(command: Command, prepared: Prepared) -> None:
    (command.folder / "mesh.toml").write_text(f'database_schema = "{prepared.schema}"\n', encoding="ascii")
    id = asked(prepared)
    alone = Command(command.folder, PAUSEMESH_CONFIG_PATH="mesh.toml", PAUSEMESH_DATABASE_URL=prepared.url)
    assert id in alone("inbox")


def test_a_flag_and_a_server_win_over_the_address(command: Command, prepared: Prepared) -> None:
    asked(prepared)
    assert "There is no database at none.db" in command("inbox", "--database-path", "none.db", code=7)
    with Served(command.folder) as served:
        url, key = f"http://127.0.0.1:{served.port}", served_key(served)
        shown = command("inbox", "--json", PAUSEMESH_URL=url, PAUSEMESH_API_KEY=key)
    assert json.loads(shown)["continuations"] == []


def served_key(served: Served) -> str:
    with pausemesh.open_sync(served.database) as mesh:
        return mesh.create_key("admin").text


@pytest.mark.parametrize("words", ["inbox", "keys list", "verify", "rebuild"])
def test_an_address_and_a_path_are_a_contradiction(command: Command, words: str) -> None:
    told = command(*words.split(), code=1, PAUSEMESH_DATABASE_PATH="a.db")
    assert "name two databases" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("postgresql://ana:sesame@127.0.0.1:1/mesh", 7, "cannot be reached, or does not let this role in"),
        ("postgresql://ana:sesame@127.0.0.1:port/mesh", 1, "PAUSEMESH_DATABASE_URL must be postgresql://"),
        ("mysql://ana:sesame@127.0.0.1/mesh", 1, "PAUSEMESH_DATABASE_URL must be postgresql://"),
    ],
)
@pytest.mark.parametrize("words", ["inbox", "keys create --role agent", "verify"])
def test_an_address_that_leads_nowhere_is_told_in_one_line(
    command: Command, words: str, url: str, code: int, said: str
) -> None:
    told = command(*words.split(), code=code, PAUSEMESH_DATABASE_URL=url)
    assert (said in told, told.count("\n")) == (True, 1)


def test_a_schema_that_is_not_there_is_told_in_one_line(command: Command) -> None:
    told = command("inbox", code=7, PAUSEMESH_DATABASE_SCHEMA="nowhere")
    assert ("SCHEMA_MISSING" in told, told.count("\n")) == (True, 1)


def test_migrating_makes_the_schema_once_and_says_so(migrating: Command, schema: str) -> None:
    first = migrating("migrate", "--json")
    applied = json.loads(first)["applied"]
    assert (json.loads(first)["schema"], applied[:1]) == (schema, [1])
    assert migrating("migrate") == f"Schema {schema} is up to date; there was nothing to do.\n"
    assert json.loads(migrating("migrate", "--json")) == {"schema": schema, "applied": []}


def test_migrating_says_what_it_did_and_names_the_schema_by_a_flag(migrating: Command, schema: str) -> None:
    told = migrating("migrate", "--schema", schema, PAUSEMESH_DATABASE_SCHEMA="another")
    assert re.match(rf"Schema {schema}: applied 1\b", told)


def test_of_several_that_migrate_at_once_one_does_it(migrating: Command) -> None:
    with ThreadPoolExecutor(4) as pool:
        told = [*pool.map(lambda _: json.loads(migrating("migrate", "--json"))["applied"], range(4))]
    assert len([applied for applied in told if applied]) == 1


def test_migrating_reads_the_schema_from_the_settings_file_as_a_server_does(migrating: Command, schema: str) -> None:
    (migrating.folder / "mesh.toml").write_text(f'port = 9000\ndatabase_schema = "{schema}"\n', encoding="ascii")
    del migrating.environment["PAUSEMESH_DATABASE_SCHEMA"]
    told = migrating("migrate", PAUSEMESH_CONFIG_PATH="mesh.toml")
    assert told.startswith(f"Schema {schema}: applied 1")


def test_migrating_uses_no_other_address(migrating: Command, postgres_server: PostgresAddress) -> None:
    told = migrating("migrate", code=1, PAUSEMESH_DATABASE_URL=postgres_server.url, PAUSEMESH_MIGRATION_DATABASE_URL="")
    assert ("PAUSEMESH_MIGRATION_DATABASE_URL is not set" in told, told.count("\n")) == (True, 1)


def test_a_role_that_may_not_migrate_is_told_so(command: Command, prepared: Prepared) -> None:
    told = command("migrate", "--schema", "another", code=7, PAUSEMESH_MIGRATION_DATABASE_URL=prepared.url)
    assert ("may not create the schema" in told, told.count("\n")) == (True, 1)


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("postgresql://ana:sesame@127.0.0.1:1/mesh", 7, "cannot be reached"),
        ("postgresql://ana:sesame@127.0.0.1:port/mesh", 1, "PAUSEMESH_MIGRATION_DATABASE_URL must be postgresql://"),
    ],
)
def test_migrating_nowhere_is_told_in_one_line(migrating: Command, url: str, code: int, said: str) -> None:
    told = migrating("migrate", code=code, PAUSEMESH_MIGRATION_DATABASE_URL=url)
    assert (said in told, told.count("\n")) == (True, 1)


def test_rights_are_printed_without_a_database(tmp_path: Path) -> None:
    command = Command(tmp_path)
    everything = command("migrate", "--print-roles").splitlines()
    narrow = command("migrate", "--print-roles=continuations", "--role", "pausemesh").splitlines()
    assert set(narrow) < set(everything)
    assert all(re.fullmatch(r'GRANT .* ON .* "pausemesh".* TO "pausemesh";', line) for line in everything)
    assert 'TO "desk 1";' in command("migrate", "--print-roles", "--role", "desk 1", "--schema", "trips")


@pytest.mark.parametrize(
    "words",
    ["--print-roles=all", "--print-roles --json", "--print-roles --role public", "--schema Mesh", "--print-roles x"],
)
def test_words_that_make_no_migration_are_refused(tmp_path: Path, words: str) -> None:
    assert "GRANT" not in Command(tmp_path)("migrate", *words.split(), code=1)
