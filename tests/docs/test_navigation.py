"""Every page can be found: in the navigation, and in the overview of its kind."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def pages_in(nav: Any) -> Iterator[str]:
    """The pages of a navigation, in its order."""
    if isinstance(nav, str):
        yield nav
    for part in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from pages_in(part)


def test_every_page_stands_once_in_the_navigation() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    pages = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    assert sorted(pages_in(project["nav"])) == pages


@pytest.mark.parametrize("folder", ["howto", "adr"])
def test_every_page_of_a_kind_is_listed_in_its_overview(folder: str) -> None:
    overview = (DOCS / folder / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(([a-z0-9-]+\.md)\)", overview)
    assert sorted(listed) == sorted(page.name for page in (DOCS / folder).glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("name", ["script.py", "fastapi_app.py", "worker.py"])
def test_every_example_is_told_of(name: str) -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    assert f"examples/{name}" in told
    assert (ROOT / "examples" / name).exists()
