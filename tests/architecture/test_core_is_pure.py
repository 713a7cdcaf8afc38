"""The core computes: it does no I/O, and it neither reads a clock nor draws a number.

The import linter knows forbidden modules only, so that a newly added package would pass it.
This test knows the allowed ones.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

WORLDLY = frozenset({
    "asyncio", "concurrent", "ctypes", "ftplib", "getpass", "glob", "http", "imaplib", "importlib",
    "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "queue", "random", "sched",
    "secrets", "select", "selectors", "shelve", "shutil", "signal", "smtplib", "socket",
    "socketserver", "sqlite3", "ssl", "subprocess", "syslog", "tempfile", "threading", "time",
    "urllib.request",
})  # fmt: skip
ALLOWED = frozenset(sys.stdlib_module_names) | {"rfc8785", "pausemesh.core"}

CLOCKS = frozenset({"datetime.now", "datetime.utcnow", "datetime.today", "date.today"})
DICE = frozenset({"uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7", "uuid.getnode"})
BUILTINS = frozenset({"open", "input", "print", "breakpoint", "exec", "eval", "__import__"})


def is_within(module: str, names: frozenset[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def imported_modules(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The full names that an import statement of a module in `package` asks for."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else ()
        origin = ".".join([*base, *filter(None, [node.module])])
        yield from (f"{origin}.{alias.name}" for alias in node.names)


def aliases_of(tree: ast.AST) -> dict[str, str]:
    """Local name → the name it was imported as, so that a renamed clock is still a clock."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            prefix = "uuid." if isinstance(node, ast.ImportFrom) and node.module == "uuid" else ""
            found |= {alias.asname or alias.name: prefix + alias.name for alias in node.names}
    return found


def last_two(node: ast.AST, aliases: dict[str, str]) -> str:
    """`datetime.datetime.now` → `datetime.now`."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Attribute):
            return f"{node.value.attr}.{node.attr}"
        if isinstance(node.value, ast.Name):
            return f"{aliases.get(node.value.id, node.value.id)}.{node.attr}"
    return ""


def complaints(node: ast.AST, package: tuple[str, ...], aliases: dict[str, str]) -> Iterator[str]:
    for module in imported_modules(node, package):
        if is_within(module, WORLDLY) or not is_within(module, ALLOWED):
            yield f"imports {module}"
    if last_two(node, aliases) in CLOCKS | DICE:
        yield f"uses {last_two(node, aliases)}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        yield f"calls {node.func.id}"


def impurities(source: str, package: tuple[str, ...] = ("pausemesh", "core")) -> list[str]:
    """What in this source reaches out of the core, as `line: what`."""
    tree = ast.parse(source)
    aliases = aliases_of(tree)
    return [
        f"{getattr(node, 'lineno', 0)}: {complaint}"
        for node in ast.walk(tree)
        for complaint in complaints(node, package, aliases)
    ]


def test_no_module_of_the_core_reaches_into_the_world(package: Path) -> None:
    modules = sorted((package / "core").rglob("*.py"))
    assert modules
    found = {
        str(module.relative_to(package)): impurities(
            module.read_text(encoding="utf-8"),
            ("pausemesh", *module.relative_to(package).parent.parts),
        )
        for module in modules
    }
    assert {name: reasons for name, reasons in found.items() if reasons} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "import requests",
        "import msgspec as quick",
        "import time",
        "import os.path",
        "from os import path",
        "from urllib import request",
        "from urllib.request import urlopen",
        "from pausemesh.ports import Clock",
        "from pausemesh import stores",
        "from .. import ports",
        "from ..stores.memory import MemoryEventStore",
        "def late() -> None:\n    import random",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import apsw",
        "from datetime import datetime\ndatetime.now()",
        "from datetime import datetime as moment\nfield = moment.utcnow",
        "import datetime\ndatetime.datetime.today()",
        "import datetime as dt\ndt.date.today()",
        "from uuid import uuid4\nuuid4()",
        "import uuid as ids\nids.uuid4()",
        "open('/etc/hostname')",
        "print('hello')",
    ],
)
def test_a_planted_impurity_is_found(planted: str) -> None:
    assert impurities(planted)


@pytest.mark.parametrize(
    "harmless",
    [
        "import rfc8785",
        "from dataclasses import dataclass",
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)",
        "from pausemesh.core.errors import PauseMeshError",
        "from .errors import PauseMeshError",
        "from . import limits",
        "def decide(now: int) -> int:\n    return now",
        "import uuid\nuuid.UUID(int=0)",
    ],
)
def test_what_the_core_may_do_passes(harmless: str) -> None:
    assert impurities(harmless) == []
