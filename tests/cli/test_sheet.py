"""Whatever JSON a server sends is drawn, harmlessly, and whole."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from rich.console import RenderableType

from pausemesh.cli.inbox_table import InboxTable
from pausemesh.cli.plain_text import is_dangerous
from pausemesh.cli.question_words import asker_of, kind_of, name_of_actor, summary_of
from pausemesh.cli.questions import Filters, Found, JsonObject
from pausemesh.cli.refusal import Refused
from pausemesh.cli.sheet import question_sheet, rest_of_sheet
from pausemesh.cli.terminal import console_of, print_json
from tests.cli.test_plain_text import TEXTS, VALUES

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAMES = st.sampled_from([
    "continuationId", "status", "createdAt", "expiresAt", "correlationId", "answerableBy", "owner", "payload",
    "shownDigest", "metadata", "resumedAt", "cancelledAt", "expiredAt", "idempotencyKey", "resumePayload", "by",
    "reason", "claim", "kind", "message", "action", "name", "arguments", "responseSchema", "id", "data", "version",
    "type", "at", "key",
])  # fmt: skip
OBJECTS: Any = st.dictionaries(
    NAMES | TEXTS,
    VALUES | st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=3), max_size=4),
    max_size=12,
)


class Elsewhere:
    """Questions of a server of which only the history is asked for."""

    place = "http://mesh"

    def __init__(self, history: list[JsonObject]) -> None:
        self._history = history

    def history(self, _continuation_id: str) -> list[JsonObject]:
        if not self._history:
            raise Refused({"code": "FORBIDDEN"})
        return self._history


def drawn(*pictures: RenderableType) -> str:
    """What is printed to a file."""
    file = io.StringIO()
    console = console_of(file)
    for picture in pictures:
        console.print(picture)
    return file.getvalue()


@for_all(OBJECTS, st.lists(OBJECTS, max_size=2), st.lists(OBJECTS, max_size=2))
def test_any_json_makes_a_harmless_sheet(
    continuation: JsonObject, history: list[JsonObject], effects: list[JsonObject]
) -> None:
    out = drawn(question_sheet(continuation, history, NOW), rest_of_sheet(continuation, history, effects))
    assert not [character for character in out if is_dangerous(character) and character != "\n"]


@for_all(st.lists(OBJECTS, max_size=3), st.lists(OBJECTS, max_size=1), st.none() | TEXTS)
def test_any_json_makes_a_harmless_table(
    continuations: list[JsonObject], history: list[JsonObject], cursor: str | None
) -> None:
    table = InboxTable(Elsewhere(history))  # type: ignore[arg-type]
    out = drawn(table.drawn(Found(continuations=continuations, next_cursor=cursor), Filters(), NOW))
    assert not [character for character in out if is_dangerous(character) and character != "\n"]


@for_all(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=400))
def test_arguments_are_shown_whole_in_any_width(text: str) -> None:
    continuation: JsonObject = {"payload": {"action": {"name": "pay", "arguments": {"note": text}}}}
    for width in (20, 100):
        console = console_of(io.StringIO())
        console.width = width
        console.print(question_sheet(continuation, [], NOW))
        assert isinstance(console.file, io.StringIO)
        assert f'"{text}"' in "".join(line.removeprefix("│ ") for line in console.file.getvalue().splitlines())


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        ({"kind": "agent", "id": "bot"}, "bot"),
        ({"kind": "system"}, "the host"),
        ({"kind": "token"}, "the token's holder"),
        ({"kind": "requester"}, "requester"),
        ({"id": "\x1b"}, r"\x1b"),
        ({}, "-"),
        (None, "-"),
    ],
)
def test_an_actor_is_named(actor: Any, name: str) -> None:
    assert name_of_actor(actor) == name
    assert asker_of([{"data": {"by": actor}}]) == name
    assert asker_of([]) == "-"


def test_a_summary_is_one_line_of_bounded_length() -> None:
    assert summary_of({"payload": {"message": " a \n\n b\t"}}, 20) == r"a b\x09"
    assert summary_of({"payload": {"message": "x" * 50}}, 20) == "x" * 19 + "…"
    assert summary_of({"payload": None}, 20) == "null"


def test_json_is_ascii_where_the_stream_has_no_unicode() -> None:
    for encoding, text in (("latin-1", '"\\u6771"\n'), ("utf-8", '"東"\n')):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
        print_json("東", stream)
        stream.seek(0)
        assert stream.read() == text


def test_an_owner_is_shown_where_there_is_one() -> None:
    assert "owner          task:t_1\n" in drawn(question_sheet({"owner": "task:t_1"}, [], NOW))
    assert "owner" not in drawn(question_sheet({}, [], NOW))


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (None, "input"),
        ({"action": {"name": "wipe"}}, "approval"),
        ({"kind": "authorization"}, "authorization"),
        ({"kind": "poll"}, "poll"),
        ({"kind": 5}, "-"),
        ({"action": 5}, "-"),
    ],
)
def test_the_kind_is_the_cores_and_of_what_it_cannot_read_what_the_payload_says(payload: Any, kind: str) -> None:
    assert kind_of({"payload": payload}) == kind
