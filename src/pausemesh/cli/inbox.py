"""``pausemesh inbox``."""

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Final

from cyclopts import Parameter
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from pausemesh import InvalidRequest, PauseMeshError
from pausemesh.cli.ending import run
from pausemesh.cli.inbox_table import InboxTable
from pausemesh.cli.place import HERE, AsJson, Place, open_questions
from pausemesh.cli.questions import PENDING, Filters, find
from pausemesh.cli.refusal import Refused, refused
from pausemesh.cli.terminal import is_interactive, print_json, standard_console
from pausemesh.core import limits
from pausemesh.core.question import QuestionKind

_REDRAWN_EVERY_SECONDS: Final = 2.0


def inbox(
    *,
    correlation: str | None = None,
    kind: QuestionKind | None = None,
    limit: int = limits.PAGE,
    cursor: str | None = None,
    all_pages: Annotated[bool, Parameter(name="--all", negative=(), show_default=False)] = False,
    watch: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: AsJson = False,
    place: Place = HERE,
) -> int:
    """Show the questions that wait for an answer, oldest first.

    Args:
        correlation: only those of this correlation.
        kind: only those of this kind.
        limit: how many at most.
        cursor: go on after the questions of an earlier call, whose nextCursor this is.
        all_pages: all of them, however many there are.
        watch: draw the table again every two seconds, until Ctrl-C.
        as_json: print {continuations, nextCursor} as JSON.
        place: where they are.
    """
    filters = Filters(status=PENDING, correlation_id=correlation, kind=kind)
    most = None if all_pages else limit

    def work() -> None:
        _require_words(limit, watch=watch, as_json=as_json)
        with open_questions(place) as questions:
            if as_json:
                found = find(questions, filters, most=most, cursor=cursor)
                print_json({"continuations": [*found.continuations], "nextCursor": found.next_cursor})
                return
            table = InboxTable(questions)

            def draw() -> RenderableType:
                return table.drawn(find(questions, filters, most=most, cursor=cursor), filters, datetime.now(UTC))

            _show(draw, watch=watch)

    return run(work, as_json=as_json)


def _require_words(limit: int, *, watch: bool, as_json: bool) -> None:
    if limit < 1:
        raise InvalidRequest("--limit must be at least 1.")
    if watch and (as_json or not is_interactive()):
        raise InvalidRequest("--watch draws on a terminal, and not with --json.")


def _show(draw: Callable[[], RenderableType], *, watch: bool) -> None:
    console = standard_console()
    if not watch:
        console.print(draw())
        return
    with contextlib.suppress(KeyboardInterrupt):
        _watch(console, draw)


def _watch(console: Console, draw: Callable[[], RenderableType]) -> None:
    """Draw again and again; what is refused meanwhile stands there until it works again."""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                picture = draw()
            except (PauseMeshError, Refused) as error:
                refusal = refused(error) if isinstance(error, PauseMeshError) else error
                picture = Text(str(refusal), style="red", overflow="fold")
            live.update(picture, refresh=True)
            time.sleep(_REDRAWN_EVERY_SECONDS)
