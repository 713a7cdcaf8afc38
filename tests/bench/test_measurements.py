"""The measurements run to their end in small, and keep what they found; how fast anything is, no test says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOME = {
    "sqlite": {"appends/s, 8 callers", "create, many / few"},
    "postgres": {"cycles, 8 callers, / pgbench", "resume, 1 caller, p99", "write-ahead log a cycle"},
    "http_postgres": {"create / Starlette echo, c = 8"},
    "growth": {"list of 50, many / few", "indexes of 1,000 pending"},
    "http": {"create / Starlette echo, c = 8", "memory of the server an idle poll", "resume, p99, c = 1"},
}


@pytest.mark.parametrize("part", SOME)
def test_a_part_is_measured_in_small(tmp_path: Path, part: str) -> None:
    command = [sys.executable, "-m", "bench", "--short", "--only", part, "--into", str(tmp_path)]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    ended = subprocess.run(command, cwd=ROOT, env=unmeasured, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / f"{part}.json").read_text(encoding="utf-8"))
    assert SOME[part] <= {row["name"] for row in found["rows"]}
    assert min(row["value"] for row in found["rows"]) >= 0
    assert {"at", "machine", "versions", "sizes"} <= found.keys()
