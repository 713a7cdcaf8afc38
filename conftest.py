"""The Python in the pages runs as tests, each page in an empty folder of its own."""

import contextlib
import tempfile
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser


def enter_a_folder(page: dict[str, Any]) -> None:
    """Let a page write its files where nobody minds."""
    page["leave"] = contextlib.ExitStack()
    folder = page["leave"].enter_context(tempfile.TemporaryDirectory())
    page["leave"].enter_context(contextlib.chdir(folder))


def leave_the_folder(page: dict[str, Any]) -> None:
    """Go back, and remove what the page wrote."""
    page["leave"].close()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=enter_a_folder,
    teardown=leave_the_folder,
).pytest()
