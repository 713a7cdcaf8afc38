"""The tutorial is typed into Python as it is printed, block by block."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "first-question.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed(blocks: list[str], folder: Path) -> tuple[str, list[str]]:
    """What Python prints, and what it complains about, where each block is followed by an empty line."""
    python = subprocess.run(
        [sys.executable, "-q", "-i"],
        input="\n".join(blocks),
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONSTARTUP"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = re.sub(r"(>>> |\.\.\. )", "", python.stderr).strip().splitlines()
    return python.stdout, complaints


def test_the_page_can_be_typed_at_the_prompt_as_it_is_printed(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 7
    printed, complaints = typed(blocks, tmp_path)
    assert complaints == []
    assert "ANSWER_INVALID /flight" in printed
    assert "TOKEN_ALREADY_USED resumed" in printed
    assert "{'ticket': 'AZ1-0042'}" in printed
    assert [file.name for file in tmp_path.glob("*.db")] == ["trips.db"]


def test_a_block_that_cannot_be_typed_is_noticed(tmp_path: Path) -> None:
    _, complaints = typed(["with open('x', 'w'):\n    1\nprint(2)\n"], tmp_path)
    assert complaints[-1] == "SyntaxError: invalid syntax"
    _, complaints = typed(["if True:\n    1\n\n    2\n"], tmp_path)
    assert complaints[-1] == "IndentationError: unexpected indent"
