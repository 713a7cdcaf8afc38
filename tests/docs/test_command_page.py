"""The page about the command says what the command does."""

import re
from pathlib import Path

import pytest

from pausemesh.cli.app import app
from pausemesh.cli.configuration import CONFIG_PATH
from pausemesh.cli.database import DATABASE_PATH, DATABASE_URL
from pausemesh.cli.exit_codes import MEANINGS
from pausemesh.cli.migrate import MIGRATION_DATABASE_URL
from pausemesh.cli.place import API_KEY, URL
from pausemesh.server.settings import DATABASE_FILE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command.md"


@pytest.fixture
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_command_is_on_it_and_no_other(page: str) -> None:
    listed = re.findall(r"^\| `([a-z]+)` \|", page.partition("## ")[0], re.MULTILINE)
    assert {name for name in app if not name.startswith("-")} == set(listed)


def test_its_exit_codes_are_those_of_the_command(page: str) -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE)
    assert [(int(code), text) for code, text in rows] == [(int(code), one.text) for code, one in MEANINGS.items()]


def test_it_names_every_setting_that_says_where_the_questions_are(page: str) -> None:
    for name in (DATABASE_PATH, DATABASE_URL, MIGRATION_DATABASE_URL, URL, API_KEY, f"{API_KEY}_FILE", CONFIG_PATH):
        assert f"`{name}`" in page
    assert f"`{DATABASE_FILE}`" in page
