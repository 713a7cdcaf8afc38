"""The import contracts of pyproject.toml hold, and each of them can fail."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINTER = Path(sys.executable).with_name("lint-imports")
VERDICT = re.compile(r"^(.+) (KEPT|BROKEN)$", re.MULTILINE)


@pytest.fixture
def copied(tmp_path: Path, root: Path, package: Path) -> Path:
    """A copy of the package and its contracts, to plant an import in."""
    shutil.copy(root / "pyproject.toml", tmp_path)
    shutil.copytree(package, tmp_path / "pausemesh", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def verdicts(folder: Path) -> dict[str, str]:
    """Contract → KEPT or BROKEN, for the package that lies in this folder."""
    done = subprocess.run(
        [str(LINTER), "--no-cache", "--no-logo", "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = dict(VERDICT.findall(done.stdout))
    assert found, done.stdout + done.stderr
    assert (done.returncode == 0) == (set(found.values()) == {"KEPT"}), done.stdout
    return found


def broken(folder: Path) -> set[str]:
    return {name for name, verdict in verdicts(folder).items() if verdict == "BROKEN"}


def plant(folder: Path, module: str, source: str) -> None:
    place = folder / "pausemesh" / module
    assert not place.exists()
    place.write_text(f'"""Planted."""\n{source}\n', encoding="utf-8")


def test_the_package_as_it_is_keeps_every_contract(copied: Path) -> None:
    assert verdicts(copied) == {"rings": "KEPT", "pure core": "KEPT", "no cycles": "KEPT"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core/planted.py", "import pausemesh.ports"),
        ("core/planted.py", "import pausemesh.service"),
        ("core/planted.py", "def late() -> None:\n    import pausemesh.stores"),
        (
            "core/planted.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pausemesh.testing",
        ),
        ("service/planted.py", "import pausemesh.stores"),
        ("service/planted.py", "import pausemesh.adapters"),
        ("service/planted.py", "import pausemesh.cli"),
        ("stores/planted.py", "import pausemesh.adapters"),
        ("adapters/planted.py", "import pausemesh.stores"),
        ("stores/planted.py", "import pausemesh.testing"),
        ("cli/planted.py", "import pausemesh.testing"),
        ("ringless.py", ""),
    ],
)
def test_an_import_that_points_outward_breaks_the_rings(copied: Path, module: str, source: str) -> None:
    plant(copied, module, source)
    assert "rings" in broken(copied)


@pytest.mark.parametrize("module", ["time", "os", "secrets", "apsw", "msgspec"])
def test_the_world_imported_in_the_core_breaks_its_purity(copied: Path, module: str) -> None:
    plant(copied, "core/planted.py", f"import {module}")
    assert broken(copied) == {"pure core"}


def test_two_modules_that_import_each_other_are_a_cycle(copied: Path) -> None:
    plant(copied, "core/planted.py", "import pausemesh.core.planted_too")
    plant(copied, "core/planted_too.py", "import pausemesh.core.planted")
    assert broken(copied) == {"no cycles"}
