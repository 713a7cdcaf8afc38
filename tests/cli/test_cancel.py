"""A question is taken back from a terminal, once."""

from pathlib import Path

import pausemesh
from tests.cli.conftest import ANA, Run, ask


def test_a_question_is_cancelled_with_a_reason_and_the_same_again_is_the_recorded_outcome(
    run: Run, database: Path
) -> None:
    noun_id = ask(database).continuation.id
    done = run("cancel", noun_id, "--reason", "the trip is off")
    assert (done.code, noun_id in done.out, done.err) == (0, True, "")
    again = run("cancel", noun_id, "--reason", "the trip is off", "--json")
    assert (again.code, again.json["continuation"]["reason"]) == (0, "the trip is off")
    assert again.json["continuation"]["by"]["id"].startswith("local:")
    assert run("cancel", noun_id, "--reason", "another").code == 4


def test_what_was_answered_is_not_cancelled(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    with pausemesh.open_sync(database) as mesh:
        mesh.answer(noun_id, by=ANA, idempotency_key="k", payload={"flight": "AZ1"})
    done = run("cancel", noun_id, "--json")
    assert (done.code, done.out) == (4, "")
    assert done.problem["recorded"]["status"] == "resumed"


def test_an_unknown_question_is_not_found_and_a_long_reason_is_refused(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    assert run("cancel", "q_unknown").code == 3
    assert run("cancel", noun_id, "--reason", "x" * 501).code == 1
