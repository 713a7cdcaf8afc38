"""The Python of a page runs as a program, and runs again in a folder where it and the other pages ran before."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs() -> dict[str, str]:
    """Each page's code, one program a page."""
    pages = [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("tutorial/*.md")),
        *sorted((ROOT / "docs").glob("howto/*.md")),
    ]
    codes = {page.name: "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in pages}
    return {name: code for name, code in codes.items() if code}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("time", ["once", "again"])
@pytest.mark.parametrize("name", programs())
def test_a_page_runs_once_and_again_beside_the_others(folder: Path, name: str, time: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", programs()[name]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), time


def test_every_page_with_code_is_among_them() -> None:
    assert set(programs()) >= {"README.md", "first-question.md", "act-once.md", "settle-doubt.md", "test-your-code.md"}
