"""``pausemesh cancel``."""

from rich.text import Text

from pausemesh.cli.ending import run
from pausemesh.cli.place import HERE, AsJson, Place, open_questions
from pausemesh.cli.plain_text import plain
from pausemesh.cli.questions import object_in, text_in
from pausemesh.cli.settling import settle
from pausemesh.cli.terminal import print_json, standard_console


def cancel(
    id: str,
    /,
    *,
    reason: str | None = None,
    as_json: AsJson = False,
    place: Place = HERE,
) -> int:
    """Take a question back; the same command again gets the recorded outcome.

    Args:
        id: the question.
        reason: why, at most 500 characters; whoever asked can read it.
        as_json: print {continuation} as JSON.
        place: where it is.
    """

    def work() -> None:
        with open_questions(place) as questions:
            outcome = settle(lambda: questions.cancel(id, reason=reason))
        if as_json:
            print_json(outcome)
            return
        continuation = object_in(outcome, "continuation")
        words = f"Cancelled at {plain(text_in(continuation, 'cancelledAt'))}: {plain(id)}"
        standard_console().print(Text(words, overflow="fold"))

    return run(work, as_json=as_json, changes=True)
