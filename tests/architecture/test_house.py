"""The project's own files keep what they promise to a reader."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

LOCKS = ["requirements.lock", "requirements-dev.lock"]
LOCKS_APART = ["requirements-fuzz.lock", "requirements-deep.lock"]
FOLDERS = ["src", "tests", "proofs", "bench", "tools", "examples", "docs", "changes", ".ci"]
TEXTS = frozenset({".py", ".md", ".toml", ".sql", ".lock", ""})
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK|W" + r"IP)\b")
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
COMMAND = re.compile(r"(?:^|`)make ([a-z][a-z-]*)(?=`|$| +#)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ADR_PARTS = ["Context", "Decision", "Consequences", "Alternatives"]


def texts(root: Path) -> Iterator[Path]:
    """Every text that belongs to the project."""
    yield from (file for file in sorted(root.iterdir()) if file.is_file() and is_text(file))
    for folder in FOLDERS:
        files = sorted((root / folder).rglob("*"))
        yield from (file for file in files if file.is_file() and is_text(file))


def is_text(file: Path) -> bool:
    return file.suffix in TEXTS and "__pycache__" not in file.parts


def pages(root: Path) -> list[Path]:
    return [file for file in texts(root) if file.suffix == ".md"]


def test_nothing_is_marked_as_unfinished(root: Path) -> None:
    found = {
        f"{file.relative_to(root)}:{number}": line
        for file in texts(root)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if UNFINISHED.search(line)
    }
    assert found == {}


def test_every_module_says_what_it_is(root: Path) -> None:
    silent = [
        str(file.relative_to(root))
        for folder in ["src", "proofs", "bench", "tools", "examples"]
        for file in sorted((root / folder).rglob("*.py"))
        if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


@pytest.mark.parametrize("name", [*LOCKS, *LOCKS_APART])
def test_a_lock_file_pins_and_hashes_and_names_no_address(root: Path, name: str) -> None:
    lock = (root / name).read_text(encoding="utf-8")
    requirements = [line for line in lock.split("\n") if line and not line.startswith(" ")]
    assert requirements
    assert [line for line in requirements if not re.match(r"[a-z0-9-]+==\S+ .*\\$", line)] == []
    assert lock.count("--hash=sha256:") > len(requirements)
    assert re.findall(r"://|--index|--find-links|--extra-index| @ ", lock) == []


def test_what_is_locked_for_users_is_locked_the_same_for_developers(root: Path) -> None:
    users, developers = (
        set(re.findall(r"^[a-z0-9-]+==\S+", (root / name).read_text(encoding="utf-8"), re.MULTILINE)) for name in LOCKS
    )
    assert users < developers


def test_every_make_command_in_a_page_is_a_target(root: Path) -> None:
    targets = set(TARGET.findall((root / "Makefile").read_text(encoding="utf-8")))
    commands = {
        command: page.name for page in pages(root) for command in COMMAND.findall(page.read_text(encoding="utf-8"))
    }
    assert {command for command in commands if command not in targets} == set()


def test_the_readme_shows_the_two_commands_that_a_newcomer_needs(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(COMMAND.findall(readme))


def test_every_target_is_declared_phony_so_that_no_folder_can_stand_for_it(root: Path) -> None:
    makefile = (root / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    declared = re.search(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)
    assert declared
    assert set(declared[1].split()) == set(TARGET.findall(makefile))


def test_every_relative_link_in_a_page_leads_to_a_file(root: Path) -> None:
    dead = [
        f"{page.relative_to(root)}: {link}"
        for page in pages(root)
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and not link.startswith("mailto:")
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_every_decision_record_is_numbered_listed_and_has_its_four_parts(root: Path) -> None:
    folder = root / "docs" / "adr"
    records = sorted(folder.glob("[0-9]*.md"))
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        parts = re.findall(r"^## (.+)$", record.read_text(encoding="utf-8"), re.MULTILINE)
        assert parts == ADR_PARTS, record.name
        assert f"({record.name})" in index


def test_every_ignored_lint_rule_gives_its_reason(root: Path) -> None:
    pyproject = (root / "pyproject.toml").read_text(encoding="utf-8")
    table = tomllib.loads(pyproject)["tool"]["ruff"]["lint"]
    ignored = [
        *table["ignore"],
        *(rule for rules in table["per-file-ignores"].values() for rule in rules),
    ]
    reasons = re.findall(r'^  "([A-Z]+\d*)", +# \S', pyproject, re.MULTILINE)
    assert sorted(reasons) == sorted(ignored)


def test_the_type_marker_is_shipped(package: Path) -> None:
    assert (package / "py.typed").is_file()


def test_every_file_that_the_architecture_page_names_is_there(root: Path, package: Path) -> None:
    named = set(re.findall(r"\b[a-z_]+\.py\b", (root / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    assert named
    assert named - {file.name for file in package.rglob("*.py")} == set()
