"""A server that is told something wrong says what, in one line, and does not start."""

import subprocess
import sys
from pathlib import Path

import pytest


def start(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pausemesh", "serve", *words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (("--port", "99999"), {}, "PAUSEMESH_PORT must be 0 to 65535"),
        (("--port", "x"), {}, "whole number"),
        ((), {"PAUSEMESH_PORT": "1.5"}, "PAUSEMESH_PORT"),
        ((), {"PAUSEMESH_LIFETIME_SECONDS": "5"}, "PAUSEMESH_LIFETIME_SECONDS must be 30 to 7776000"),
        ((), {"PAUSEMESH_DATABSE_PATH": "x"}, "PAUSEMESH_DATABSE_PATH is no setting"),
        ((), {"PAUSEMESH_CONFIG_PATH": "none.toml"}, "PAUSEMESH_CONFIG_PATH must name a readable TOML file"),
        ((), {"PAUSEMESH_CONFIG_PATH": "unknown.toml"}, "foo"),
        ((), {"PAUSEMESH_CONFIG_PATH": "bad.toml"}, "Invalid value"),
        (
            (),
            {"PAUSEMESH_DATABASE_URL": "postgresql://u:secret@h:secret/d"},
            "PAUSEMESH_DATABASE_URL must be postgresql:",
        ),
        ((), {"PAUSEMESH_DATABASE_URL": "sqlite:///secret.db"}, "PAUSEMESH_DATABASE_URL must be postgresql:"),
        ((), {"PAUSEMESH_DATABASE_URL": "host=secret dbname=d"}, "PAUSEMESH_DATABASE_URL must be postgresql:"),
        ((), {"PAUSEMESH_DATABASE_URL_FILE": "none.url"}, "PAUSEMESH_DATABASE_URL_FILE names cannot be read"),
        ((), {"PAUSEMESH_DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/d"}, "cannot be reached"),
        (("--database-path", "a.db"), {"PAUSEMESH_DATABASE_URL": "postgresql://u:secret@h/d"}, "name two databases"),
        (
            (),
            {"PAUSEMESH_DATABASE_PATH": "a.db", "PAUSEMESH_DATABASE_URL": "postgresql://u:secret@h/d"},
            "name two databases",
        ),
        (("--database-schema", "Mesh"), {}, "PAUSEMESH_DATABASE_SCHEMA is refused: The schema's name must"),
        (("--database-url", "postgresql://u@h/d"), {}, "--database-url"),
        ((), {"PAUSEMESH_CONFIG_PATH": "url.toml"}, "database_url"),
        ((), {"PAUSEMESH_CONFIG_PATH": "text.toml"}, "whole number"),
        (("--host", "0.0.0.0"), {}, "no API key exists"),  # noqa: S104 - it is refused
        (("--host", "0.0.0.0", "--database-path", "x y.db"), {}, "--role admin --database-path 'x y.db'"),  # noqa: S104
        (("--database-path", "file/a.db"), {}, "The folder cannot be made"),
        (("--nope",), {}, "--nope"),
    ],
    ids=str,
)
def test_a_wrong_setting_stops_the_start(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    (tmp_path / "unknown.toml").write_text("foo = 1\n", encoding="utf-8")
    (tmp_path / "url.toml").write_text('database_url = "postgresql://u:secret@h/d"', encoding="utf-8")
    (tmp_path / "text.toml").write_text('port = "x"', encoding="utf-8")
    (tmp_path / "bad.toml").write_text("port = [", encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    ended = start(tmp_path, *words, **environment)
    assert ended.returncode == 1
    told = ended.stdout + ended.stderr
    assert said in told
    assert "Traceback" not in told
    assert "secret" not in told


@pytest.mark.parametrize(
    "words", [("serve",), ("inbox",), ("keys", "list"), ("migrate",), ("migrate", "--print-roles")]
)
def test_without_the_driver_of_postgresql_a_command_says_what_to_install(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = f"import sys; sys.modules['psycopg'] = None; from pausemesh.cli import main; main({words!r})"
    url = "postgresql://u:secret@h/d"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PAUSEMESH_DATABASE_URL": url, "PAUSEMESH_MIGRATION_DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "pip install 'pausemesh[postgres]'" in ended.stderr
    assert "secret" not in ended.stderr


def test_only_what_listening_failed_for_is_told_as_that(tmp_path: Path) -> None:
    ended = start(tmp_path, "--port", "0", "--port-file", "none/port")
    assert (ended.returncode, ended.stderr) == (1, "pausemesh: [Errno 2] No such file or directory: 'none/port'\n")
