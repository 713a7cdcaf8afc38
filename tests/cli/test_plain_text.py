"""Nothing from elsewhere acts on a terminal, hides in it, or looks like something else."""

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from pausemesh.cli.plain_text import is_dangerous, plain, plain_json, plain_lines

ANYTHING = st.text(st.characters(exclude_categories=()))
NASTY = st.text(st.sampled_from("\\xuUn0\x00\x1b\x7f\x9b\n\r\t\u202e\u200b\u2028\ud800\ufe0f\U000e0041\u3164aé😀"))
TEXTS = ANYTHING | NASTY
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
ESCAPE = re.compile(r"\\(?:\\|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def read_back(shown: str) -> str:
    """The text that ``plain`` was given."""
    return ESCAPE.sub(lambda match: chr(int("".join(filter(None, match.groups())) or "5c", 16)), shown)


def dangers(shown: str) -> set[str]:
    return {character for character in shown if is_dangerous(character)}


def test_controls_formats_separators_and_surrogates_are_dangerous_and_nothing_that_is_seen_is() -> None:
    categories = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    for point in range(sys.maxunicode + 1):
        if unicodedata.category(chr(point)) in categories:
            assert is_dangerous(chr(point))
    assert not dangers("Straße, 東京 «naïve» שלום مرحبا 😀 e\u0301 a\u00a0b\\/~")


@pytest.mark.parametrize(
    "hidden",
    ["\u034f", "\u115f", "\u17b5", "\u180e", "\u2065", "\u2800", "\u3164", "\ufe0f", "\uffa0", "\ufff8", "\U000e01ef"],
)
def test_what_a_font_leaves_blank_is_dangerous_too(hidden: str) -> None:
    assert is_dangerous(hidden)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Which flight?", "Which flight?"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("pay \u202e001$", r"pay \u202e001$"),
        ("\U000e0041", r"\U000e0041"),
        ("a\ud800b", r"a\ud800b"),
        ("one\ntwo\r\n", r"one\x0atwo\x0d\x0a"),
        (r"C:\data", r"C:\data"),
        (r"C:\users", r"C:\\users"),
        ("\\\x1b", r"\\\x1b"),
        ("\\", r"\\"),
        (r"\x1b", r"\\x1b"),
        ("[bold]:smile:[/bold]", "[bold]:smile:[/bold]"),
    ],
)
def test_a_text_is_shown_as_one_line(text: str, shown: str) -> None:
    assert plain(text) == shown


@for_all(TEXTS)
def test_whatever_is_shown_is_harmless_and_can_be_read_back(text: str) -> None:
    shown = plain(text)
    assert not dangers(shown)
    assert read_back(shown) == text


@for_all(TEXTS)
def test_lines_end_at_line_feeds_alone(text: str) -> None:
    shown = plain_lines(text)
    assert not dangers("".join(shown))
    assert "\n".join(read_back(line) for line in shown) == text


@for_all(VALUES, st.sampled_from([None, 2]))
def test_json_is_shown_harmless_and_stays_the_same_json(value: object, indent: int | None) -> None:
    shown = plain_json(value, indent=indent)  # type: ignore[arg-type]
    assert not dangers(shown.replace("\n", ""))
    # Two surrogates that stand beside each other in a text are one character in any JSON.
    assert json.loads(shown) == json.loads(json.dumps(value))
