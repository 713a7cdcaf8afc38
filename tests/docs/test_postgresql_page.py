"""What the page about PostgreSQL says to type works, from two roles to a restore."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pausemesh
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from tests.environment import without_settings

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "run-with-postgresql.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as started:
        yield started


def typed(server: PostgresServer, folder: Path, script: str) -> str:
    """Type what a page says, on this server instead of the one it names, and return what was printed."""
    place = f"127.0.0.1:{server.port}"
    said = script.replace("db.example.com", place).replace("sslmode=verify-full&sslrootcert=system", "sslmode=prefer")
    said = said.replace("/run/secrets/", f"{folder}/").replace(":…@", ":x@").replace("pausemesh serve\n", "")
    programs = f"{server.binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", said],
        cwd=folder,
        env={**without_settings(), "PATH": programs},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_says_to_type_makes_a_database_serves_it_and_restores_it(
    server: PostgresServer, tmp_path: Path
) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    [roles] = [text for kind, text in blocks if kind == "sql"]
    _, making, serving, dump, restore = [text for kind, text in blocks if kind == "bash"]
    for statement in roles.splitlines():
        server.execute(statement)
    (tmp_path / "pausemesh-keys").write_text("k" * 32, encoding="ascii")
    assert "applied 1" in typed(server, tmp_path, making)
    prepared = making.splitlines()[0] + "\n" + serving
    assert "pmk_" in typed(server, tmp_path, prepared)

    url = server.url_of("pausemesh", database="pausemesh")
    with pausemesh.open_sync(url) as mesh:
        before = mesh.create(payload="before").continuation.id
    typed(server, tmp_path, dump)
    with pausemesh.open_sync(url) as mesh:
        after = mesh.create(payload="after").continuation.id
    environment = "\n".join(line for line in serving.splitlines() if line.startswith("export"))
    assert "All is well" in typed(server, tmp_path, f"{environment}\n{restore}")
    with pausemesh.open_sync(url) as mesh:
        assert mesh.inspect(before).status == "pending"
        with pytest.raises(pausemesh.ContinuationNotFound):
            mesh.inspect(after)
        mesh.create(payload="and on it goes")
