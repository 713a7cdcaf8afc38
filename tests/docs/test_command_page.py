"""The page about the command says what the command does."""

import re
from pathlib import Path

import pytest

from pausemesh.cli import place
from pausemesh.cli.app import app
from pausemesh.cli.configuration import CONFIG_PATH
from pausemesh.cli.exit_codes import MEANINGS
from pausemesh.server.settings import Settings

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
    for name in (place.DATABASE_PATH, place.URL, place.API_KEY, place.API_KEY_FILE, CONFIG_PATH):
        assert f"`{name}`" in page
    assert f"`{Settings().database_path}`" in page
