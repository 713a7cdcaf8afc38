"""The table of the questions that wait."""

import contextlib
import re
from datetime import datetime
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pausemesh import PauseMeshError
from pausemesh.cli.durations import age, time_left, urgency
from pausemesh.cli.plain_text import plain
from pausemesh.cli.question_words import NOBODY, action_of, asker_of, kind_of, summary_of
from pausemesh.cli.questions import Filters, Found, JsonObject, Questions, text_in
from pausemesh.cli.refusal import Refused

_MESSAGE_CHARACTERS: Final = 300
_GENERATED: Final = re.compile(r"c_[0-9a-z]{26}")


class InboxTable:
    """Draws questions, and remembers who asked each of them."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._askers: dict[str, str] = {}

    def drawn(self, found: Found, filters: Filters, now: datetime) -> RenderableType:
        """Return the table, or what to know where there is nothing."""
        if not found.continuations:
            return _nothing(self._questions.place, filters)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True, leading=1)
        table.add_column("question", ratio=1, overflow="fold")
        table.add_column("kind", overflow="fold", max_width=24)
        table.add_column("asked by", overflow="fold", max_width=32)
        table.add_column("age", no_wrap=True)
        table.add_column("time left", no_wrap=True)
        for continuation in found.continuations:
            table.add_row(*self._cells(continuation, now))
        return Group(table, _footer(found))

    def _cells(self, continuation: JsonObject, now: datetime) -> tuple[Text, ...]:
        action = action_of(continuation)
        expires_at = text_in(continuation, "expiresAt") or None
        return (
            _two(summary_of(continuation, _MESSAGE_CHARACTERS), plain(text_in(continuation, "continuationId"))),
            _two(plain(kind_of(continuation)), "" if action is None else "→ " + plain(text_in(action, "name"))),
            _two(self._asker(continuation), _correlation(continuation)),
            Text(age(text_in(continuation, "createdAt"), now)),
            Text(time_left(expires_at, now), style=urgency(expires_at, now)),
        )

    def _asker(self, continuation: JsonObject) -> str:
        noun_id = text_in(continuation, "continuationId")
        if noun_id not in self._askers:
            asker = NOBODY
            with contextlib.suppress(PauseMeshError, Refused):
                asker = asker_of(self._questions.history(noun_id))
            self._askers[noun_id] = asker
        return self._askers[noun_id]


def _correlation(continuation: JsonObject) -> str:
    """Return what the question belongs to; a correlation that nobody chose says nothing."""
    correlation = text_in(continuation, "correlationId")
    return "" if _GENERATED.fullmatch(correlation) else plain(correlation)


def _two(above: str, below: str) -> Text:
    """Return two lines that can be shown, the second one quieter."""
    return Text.assemble(above, *([("\n" + below, "dim")] if below else []), overflow="fold")


def _footer(found: Found) -> Text:
    count = len(found.continuations)
    waiting = "1 question waits" if count == 1 else f"{count} questions wait"
    more = "." if found.next_cursor is None else ", and there are more: add --all."
    return Text.assemble(waiting, more, ("  pausemesh show ID, pausemesh answer ID, pausemesh cancel ID", "dim"))


def _nothing(place: str, filters: Filters) -> Group:
    where = Text(f"No question waits for an answer in {plain(place)}.", overflow="fold")
    if filters.correlation_id is not None or filters.kind is not None:
        return Group(where, Text("Only some were looked for; without --correlation and --kind all are shown.", "dim"))
    hint = "Questions appear here as soon as an agent asks: mesh.create, mesh.ask, or POST /v1/continuations."
    return Group(where, Text(hint, "dim"))
