"""`import pausemesh` loads the library alone."""

import json
import subprocess
import sys

import pytest

OPTIONAL = (
    "starlette", "uvicorn", "psycopg", "psycopg_pool", "httpx2", "cyclopts", "rich", "jinja2",
    "structlog", "pydantic", "pausemesh.cli", "pausemesh.server",
)  # fmt: skip


def run(program: str) -> str:
    """Run a program in an interpreter of its own and return what it prints."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def loaded_by(statement: str) -> set[str]:
    return set(json.loads(run(f"{statement}\nimport json, sys\nprint(json.dumps([*sys.modules]))")))


def intruders(loaded: set[str]) -> set[str]:
    return {
        name
        for name in loaded
        if name.startswith(OPTIONAL)
        and (name in OPTIONAL or name.startswith(tuple(f"{optional}." for optional in OPTIONAL)))
    }


def test_importing_the_library_loads_nothing_that_it_could_do_without() -> None:
    loaded = loaded_by("import pausemesh")
    assert "pausemesh" in loaded
    assert intruders(loaded) == set()


@pytest.mark.parametrize("module", ["rich", "rich.table", "cyclopts"])
def test_a_module_that_sneaks_in_would_be_seen(module: str) -> None:
    assert module in intruders(loaded_by(f"import pausemesh, {module}"))


def test_the_library_imports_where_no_database_client_or_web_framework_is_installed() -> None:
    absent = ("psycopg", "psycopg_pool", "starlette", "uvicorn", "httpx2", "cyclopts", "rich")
    block = f"import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n"
    assert run(block + "import pausemesh\nprint(pausemesh.__name__)") == "pausemesh\n"
