"""The page about mounting shows the example as it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "howto" / "mount-into-fastapi.md"
BLOCK = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHOWN = BLOCK.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "code"), SHOWN, ids=[code.split("\n", 1)[0].strip() for _, code in SHOWN])
def test_what_it_shows_stands_in_the_example(file: str, code: str) -> None:
    assert code in (ROOT / file).read_text(encoding="utf-8")


def test_it_shows_something() -> None:
    assert len(SHOWN) == 4
