"""What the page on running a service shows is accepted by what reads it, and is what the server has."""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pausemesh.server.app import paths
from pausemesh.server.settings import Settings
from pausemesh.telemetry.metrics import Metrics
from pausemesh.telemetry.redaction import ALLOWED

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "run-as-a-service.md").read_text(encoding="utf-8")
UNIT = re.search(r"^\[Unit\]\n.*?(?=^```$)", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with a command that is there."""
    assert UNIT is not None
    command = Path(sys.executable).parent / "pausemesh"
    file = tmp_path / "pausemesh.service"
    file.write_text(UNIT[0].replace("/opt/pausemesh/bin/pausemesh", str(command)), encoding="utf-8")
    return file


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
@pytest.mark.parametrize("judge", [["verify"], ["security", "--offline=true", "--threshold=20"]])
def test_systemd_takes_the_unit_and_finds_little_exposed(unit: Path, judge: list[str]) -> None:
    judged = subprocess.run(
        ["systemd-analyze", *judge, str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (judged.returncode, judged.stderr) == (0, ""), judged.stdout


def test_it_names_settings_that_there_are() -> None:
    known = {f"PAUSEMESH_{field.name.upper()}" for field in dataclasses.fields(Settings)}
    assert set(re.findall(r"\bPAUSEMESH_[A-Z_]+\b", PAGE)) <= known


def test_it_names_the_metrics_that_the_server_shows() -> None:
    metrics = Metrics(paths())
    metrics.request_started()
    metrics.request_ended("/healthz", "GET", 200, 0.1)
    shown = metrics.render()[0].decode()
    named = re.findall(r"^\| `(pausemesh_[a-z_]+)` \|", PAGE, re.MULTILINE)
    assert len(named) == 6
    assert [name for name in named if name.removesuffix("_total") not in shown] == []


def test_the_line_of_the_log_has_members_that_may_be_logged() -> None:
    line = re.search(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert line is not None
    assert set(json.loads(line[1])) <= set(ALLOWED)
