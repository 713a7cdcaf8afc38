"""``pausemesh show``."""

from datetime import UTC, datetime

from pausemesh.cli.ending import run
from pausemesh.cli.place import HERE, AsJson, Place, open_questions
from pausemesh.cli.sheet import question_sheet, rest_of_sheet
from pausemesh.cli.terminal import print_json, standard_console


def show(
    id: str,
    /,
    *,
    as_json: AsJson = False,
    place: Place = HERE,
) -> int:
    """Show everything that is known of a question; nothing is cut.

    Args:
        id: the question.
        as_json: print {continuation, events, effects} as JSON.
        place: where it is.
    """

    def work() -> None:
        with open_questions(place) as questions:
            continuation = questions.get(id)
            history, effects = questions.history(id), questions.effects(id)
        if as_json:
            print_json(
                {
                    "continuation": continuation,
                    "events": [*history],
                    "effects": [*effects],
                }
            )
            return
        console = standard_console()
        console.print(question_sheet(continuation, history, datetime.now(UTC)))
        console.print(rest_of_sheet(continuation, history, effects))

    return run(work, as_json=as_json)
