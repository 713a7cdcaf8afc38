"""The blocks of a page, and a shell that runs them as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.environment import without_settings

HOWTO: Final = Path(__file__).resolve().parents[2] / "docs" / "howto"
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETTINGS: Final = re.compile(r"^export PAUSEMESH_.*\n", re.MULTILINE)


def blocks(page: str, language: str = "bash") -> list[str]:
    """Return the blocks of a how-to, without the lines that say where the server is."""
    found = _BLOCK.findall((HOWTO / page).read_text(encoding="utf-8"))
    return [_SETTINGS.sub("", code) for kind, code in found if kind == language]


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a block in a folder, with the python and the command of this environment."""
    kept = without_settings()
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**kept, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
