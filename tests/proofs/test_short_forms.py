"""Every proof in its short form, with its controls, by the same command that runs the long ones."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proofs.command import PROOFS


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_the_short_form_finds_all_as_expected(root: Path, tmp_path: Path, name: str) -> None:
    found = tmp_path / "found.json"
    command = [sys.executable, "-m", "proofs", "--sizes", "short", "--only", name, "--json", str(found)]
    ended = subprocess.run(command, cwd=root, env=unmeasured(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    [report] = json.loads(found.read_text(encoding="utf-8"))
    assert (report["proof"], report["ok"], report["failures"]) == (name, True, [])
    assert [count for count in report["counts"] if not count["ok"]] == []
    assert controls(report), "nothing shows that this proof can fail"


def test_a_proof_that_is_ended_leaves_no_process_and_no_folder(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "proofs", "--only", "kills"]
    environment = {**unmeasured(), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, process_group=0) as proof:
        while not list(tmp_path.rglob("*.db")):
            assert proof.poll() is None
            time.sleep(0.01)
        proof.terminate()
        assert proof.wait(timeout=30) == 128 + signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.killpg(proof.pid, 0)
    assert list(tmp_path.iterdir()) == []


def controls(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [count for count in report["counts"] if count["promise"].startswith("control: ")]


def unmeasured() -> dict[str, str]:
    """The environment without what would make coverage slow down thousands of processes."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
