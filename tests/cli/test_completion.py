"""The shell completes the command's words."""

import subprocess
from pathlib import Path
from typing import Literal

import pytest

from pausemesh.cli.app import app
from tests.cli.conftest import Run

WORDS = ("inbox", "show", "answer", "cancel", "keys", "create", "--role", "--watch", "--idempotency-key", "demo")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_knows_every_command_and_option(shell: Literal["bash", "zsh", "fish"]) -> None:
    script = app.generate_completion(shell=shell)
    assert [word for word in WORDS if word.lstrip("-") not in script] == []


def test_bash_can_read_its_script(tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(app.generate_completion(shell="bash"), encoding="utf-8")  # noqa: S604 - a name, no command line
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_installed_by_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("--install-completion", "--shell", "bash")
    assert done.code == 0
    installed = [file for file in tmp_path.rglob("*") if file.is_file() and "pausemesh" in file.name]
    assert installed
    assert "inbox" in installed[0].read_text(encoding="utf-8")
