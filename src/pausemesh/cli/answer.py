"""``pausemesh answer``."""

import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from pausemesh import InvalidRequest
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.cli.answering import Answering, outcome_line
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.place import HERE, Place, open_questions
from pausemesh.cli.questions import JsonObject
from pausemesh.cli.terminal import is_interactive, print_json, standard_console
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue

_STANDARD_INPUT: Final = "-"
_GIVEN_LIMITS: Final = JsonLimits(max_bytes=16 * 1024 * 1024)


def answer(
    id: str,
    /,
    *,
    given: Annotated[str | None, Parameter(name="--json", allow_leading_hyphen=True)] = None,
    idempotency_key: str | None = None,
    shown_digest: str | None = None,
    yes: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    place: Place = HERE,
) -> int:
    """Answer a question: field by field on a terminal, or with --json in a script.

    On a terminal the question and its action are shown whole, and the answer is sent once it is confirmed.

    Args:
        id: the question.
        given: the answer as JSON, or @file, or - for the standard input; the outcome is then printed as JSON
            {continuation, replayed}.
        idempotency_key: makes a repeat safe: the same answer under it gets the recorded outcome; drawn where it is
            left out.
        shown_digest: of what a person has seen; else of the question as it is found now.
        yes: send without asking for confirmation.
        place: where it is.
    """

    def work() -> Exit | None:
        payload = None if given is None else _read(given)
        if given is None and not is_interactive():
            raise InvalidRequest("Nobody can be asked without a terminal; give the answer with --json.")
        with open_questions(place) as questions:
            key = TimeOrderedIds().new("answer") if idempotency_key is None else idempotency_key
            answering = Answering(questions, questions.get(id), key)
            if given is None:
                outcome = answering.ask(standard_console(), confirmed=yes)
            elif not (yes or given == _STANDARD_INPUT or not is_interactive()) and not answering.confirm(
                standard_console(), payload
            ):
                outcome = None
            else:
                outcome = answering.send(payload, shown_digest)
        return _told(outcome, as_json=given is not None)

    return run(work, as_json=given is not None, changes=True)


def _told(outcome: JsonObject | None, *, as_json: bool) -> Exit | None:
    if outcome is None:
        print("Nothing was sent.", file=sys.stderr)
        return Exit.NOT_CONFIRMED
    if as_json:
        print_json(outcome)
    else:
        standard_console().print(outcome_line(outcome))
    return None


def _read(given: str) -> JsonValue:
    """Return the answer that was given as JSON, in a file, or on the standard input.

    Raises:
        InvalidJson: it is no JSON that can be kept.
        InvalidRequest: there is no such file.
    """
    if given == _STANDARD_INPUT:
        raw = sys.stdin.buffer.read(_GIVEN_LIMITS.max_bytes + 1)
    elif given.startswith("@"):
        try:
            with Path(given[1:]).open("rb") as file:
                raw = file.read(_GIVEN_LIMITS.max_bytes + 1)
        except (OSError, ValueError):
            raise InvalidRequest("The file that --json names cannot be read.") from None
    else:
        raw = given.encode("utf-8", "surrogateescape")
    return read_json(raw, _GIVEN_LIMITS)
