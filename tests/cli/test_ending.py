"""A command ends with one code and without a trace of its own, whatever happens to its output."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import ask

COMMAND = f"{sys.executable} -m pausemesh"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_whoever_has_read_enough_may_close_the_pipe(database: Path) -> None:
    for number in range(30):
        ask(database, {"message": f"{number} " + "x" * 3_000})
    for words in ("inbox --json", "inbox", "show q_unknown"):
        done = shell(f"{COMMAND} {words} | true; exit ${{PIPESTATUS[0]}}")
        assert done.returncode == (3 if "unknown" in words else 0), words
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr


def test_what_a_streams_encoding_cannot_write_is_an_escape(database: Path) -> None:
    ask(database, {"message": "東京?"})
    plain = shell(f"{COMMAND} inbox", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert r"\u6771\u4eac?" in plain.stdout
    as_json = shell(f"{COMMAND} inbox --json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert r"\u6771\u4eac?" in as_json.stdout


def test_a_refusal_is_one_line_on_the_standard_error(database: Path) -> None:
    ask(database)
    done = shell(f"{COMMAND} show q_unknown")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith("pausemesh: ")
