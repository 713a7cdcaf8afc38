"""A command ends with one code and without a trace of its own, whatever happens to its output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pausemesh
from tests.cli.conftest import ask

COMMAND = f"{sys.executable} -m pausemesh"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
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


def unheard(words: str, to: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a standard output that cannot be written."""
    done = shell(f"{COMMAND} {words} {to}")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    return done


@pytest.mark.parametrize("to", ["> /dev/full", ">&-"])
def test_what_changed_something_and_cannot_say_so_is_perhaps_recorded(database: Path, to: str) -> None:
    first, second = ask(database), ask(database)
    answer = f"""answer {first.continuation.id} --json '{{"flight": "AZ1"}}' --yes"""
    for words in (answer, f"cancel {second.continuation.id}", f"cancel {second.continuation.id} --json"):
        done = unheard(words, to)
        assert (done.returncode, done.stderr.count("\n")) == (8, 1), words
        assert "perhaps recorded" in done.stderr
    with pausemesh.open_sync(database) as mesh:
        assert mesh.inspect(first.continuation.id).status == "resumed"
        assert mesh.inspect(second.continuation.id).status == "cancelled"


@pytest.mark.parametrize("to", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", ["inbox", "inbox --json", "doctor", "verify", "keys list", "--help", "version"])
def test_what_only_reads_and_cannot_say_what_is_unavailable(database: Path, words: str, to: str) -> None:
    ask(database)
    done = unheard(words, to)
    assert (done.returncode, done.stderr.count("\n")) == (7, 1)
    assert "output" in done.stderr


@pytest.mark.parametrize("to", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", ["keys create --role admin", "dev --port 0"])
def test_no_key_is_made_that_nobody_could_see(database: Path, words: str, to: str) -> None:
    ask(database)
    done = unheard(words, to)
    assert (done.returncode, done.stderr.count("\n")) == (7, 1)
    assert "nothing was changed" in done.stderr
    with pausemesh.open_sync(database) as mesh:
        assert mesh.keys() == ()


def test_a_standard_input_that_is_closed_is_empty(database: Path) -> None:
    asked = ask(database)
    for words, code in (("--json -", "INVALID_JSON"), ("", "INVALID_REQUEST")):
        done = shell(f"{COMMAND} answer {asked.continuation.id} {words} <&-")
        assert (done.returncode, done.stdout) == (1, "")
        assert code in done.stderr


def test_a_refusal_that_cannot_be_told_keeps_its_code(database: Path) -> None:
    ask(database)
    for words in ("show q_unknown", "show q_unknown --json"):
        for to in ("2> /dev/full", "2>&-"):
            done = unheard(words, to)
            assert (done.returncode, done.stdout) == (3, "")


def test_whoever_has_read_enough_of_the_help_may_close_the_pipe() -> None:
    for words in ("--help", "help answer", "answer --help", "version"):
        done = shell(f"{COMMAND} {words} | true; exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) == (0, ""), words
