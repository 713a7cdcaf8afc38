"""The command says what it can do, and its exit code says whether it could."""

import subprocess
import sys
from pathlib import Path

import pytest

import pausemesh


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pausemesh", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", ["version", "--version"])
def test_the_version_is_printed_and_nothing_else(words: str) -> None:
    done = run(words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{pausemesh.__version__}\n", "")


def test_an_unknown_command_exits_with_1_and_is_named() -> None:
    done = run("dance")
    assert done.returncode == 1
    assert done.stdout == ""
    assert '"dance"' in done.stderr


def test_an_unknown_option_exits_with_1() -> None:
    assert run("demo", "--slowly").returncode == 1


def test_the_help_names_every_command_and_has_examples() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("demo", "version", "Examples:", "pausemesh demo"))


def test_help_is_a_command_too() -> None:
    assert run("help").stdout == run("--help").stdout
    assert run("help", "keys", "create").stdout == run("keys", "create", "--help").stdout
    assert run("help", "dance").returncode == 1


def test_the_demos_help_names_its_options_and_has_examples() -> None:
    done = run("demo", "--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("--keep", "--seed", "--json", "Examples:"))
    assert "--no-" not in done.stdout


def test_help_has_no_colours_where_it_is_not_printed_to_a_terminal() -> None:
    assert "\x1b" not in run("--help").stdout


def test_the_demo_does_not_run_into_the_database_of_an_earlier_one(tmp_path: Path) -> None:
    earlier = tmp_path / "trips.db"
    earlier.write_bytes(b"of an earlier run")
    done = run("demo", "--keep", str(tmp_path))
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr
    assert earlier.read_bytes() == b"of an earlier run"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.touch()
    done = run("demo", "--keep", str(taken))
    assert done.returncode == 1
    assert str(taken) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_process_of_the_demo_loads_neither_the_command_line_nor_tables() -> None:
    program = (
        "import sys, pausemesh.cli.demo.assistant, pausemesh.cli.demo.desk\n"
        "print([name for name in sys.modules if name.partition('.')[0] in {'cyclopts', 'rich'}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
