"""An answer comes from a script or from a person who has seen what is asked, and counts once."""

import io
import os
import sys
from pathlib import Path

import pytest

import pausemesh
from tests.cli.conftest import ANA, BOOKING, FLIGHT, Run, ask
from tests.cli.terminal import Terminal

AZ1 = '{"flight": "AZ1"}'


@pytest.fixture
def noun_id(database: Path) -> str:
    """An open question."""
    return ask(database).continuation.id


def stored(database: Path, noun_id: str) -> pausemesh.Continuation:
    with pausemesh.open_sync(database) as mesh:
        return mesh.inspect(noun_id)


def test_a_script_answers_once_and_its_repeat_gets_the_recorded_outcome(run: Run, database: Path, noun_id: str) -> None:
    words = ("answer", noun_id, "--json", AZ1, "--idempotency-key", "ticket-7")
    first = run(*words)
    assert (first.code, first.err, first.json["replayed"]) == (0, "", False)
    assert first.json["continuation"]["resumePayload"] == {"flight": "AZ1"}
    again = run(*words)
    assert (again.code, again.json["replayed"]) == (0, True)
    assert again.json["continuation"] == first.json["continuation"]
    kept = stored(database, noun_id)
    assert (kept.idempotency_key, kept.by) == ("ticket-7", pausemesh.Actor(kind=pausemesh.ActorKind.OPERATOR, id=who()))


def who() -> str:
    from pausemesh.cli.local_questions import local_principal  # noqa: PLC0415

    return local_principal("default").id


def test_a_key_stands_for_one_answer_and_an_answered_question_for_none_more(run: Run, noun_id: str) -> None:
    words = ("answer", noun_id, "--idempotency-key", "k")
    assert run(*words, "--json", AZ1).code == 0
    other = run(*words, "--json", '{"flight": "AZ2"}')
    assert (other.code, other.out, other.problem["code"]) == (4, "", "IDEMPOTENCY_CONFLICT")
    late = run("answer", noun_id, "--json", AZ1)
    assert (late.code, late.problem["code"]) == (4, "TOKEN_ALREADY_USED")


def test_an_answer_that_does_not_match_names_the_places_and_leaves_the_question_open(
    run: Run, database: Path, noun_id: str
) -> None:
    done = run("answer", noun_id, "--json", '{"flight": "XX", "note": "far too long"}')
    assert (done.code, done.out) == (5, "")
    assert {issue["path"] for issue in done.problem["issues"]} == {"/flight", "/note"}
    assert stored(database, noun_id).status == "pending"


def test_an_answer_can_be_in_a_file_or_come_from_the_standard_input(
    run: Run, database: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.json").write_text(AZ1, encoding="utf-8")
    assert run("answer", ask(database).continuation.id, "--json", "@a.json").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(AZ1.encode())))
    assert run("answer", ask(database).continuation.id, "--json", "-").code == 0


@pytest.mark.parametrize("given", ["{", "", "@missing.json", "@\x00", "NaN", '{"a": 1, "a": 2}', "\udcff"])
def test_what_is_no_answer_is_refused_before_anything_is_opened(run: Run, database: Path, given: str) -> None:
    done = run("answer", "q_1", "--json", given)
    assert (done.code, done.out) == (1, "")
    assert not database.exists()


def test_a_script_can_say_what_its_person_has_seen(run: Run, database: Path, noun_id: str) -> None:
    done = run("answer", noun_id, "--json", AZ1, "--shown-digest", "0" * 64)
    assert (done.code, done.problem["code"]) == (4, "DIGEST_MISMATCH")
    seen = stored(database, noun_id).shown_digest
    assert run("answer", noun_id, "--json", AZ1, "--shown-digest", seen).code == 0


def test_nobody_is_asked_without_a_terminal(run: Run, noun_id: str) -> None:
    done = run("answer", noun_id)
    assert (done.code, done.out) == (1, "")
    assert "--json" in done.err


def test_a_null_is_an_answer(run: Run, database: Path) -> None:
    noun_id = ask(database, {"message": "Anything?"}).continuation.id
    assert run("answer", noun_id, "--json", "null").code == 0
    assert stored(database, noun_id).status == "resumed"


@pytest.mark.parametrize("noun_id", ["q_unknown", "a/b", ""])
def test_an_unknown_question_is_not_found(run: Run, database: Path, noun_id: str) -> None:
    ask(database)
    assert run("answer", noun_id, "--json", "1").code == 3


@pytest.fixture
def env() -> dict[str, str]:
    return {**os.environ}


def test_a_person_is_asked_field_by_field_and_may_correct_what_does_not_match(
    database: Path, folder: Path, noun_id: str, env: dict[str, str]
) -> None:
    with Terminal("answer", noun_id, env=env, folder=folder) as terminal:
        assert "Which flight?" in terminal.see("flight  one of these")
        terminal.see("2) AZ2")
        terminal.see("> ")
        terminal.type("3")
        terminal.see("Type the number of one of these.")
        terminal.type("2")
        terminal.see("note  text, maxLength 5, optional")
        terminal.see("> ")
        terminal.type("far too long")
        terminal.see('"note": "far too long"')
        terminal.see("Send it?")
        terminal.type("yes")
        terminal.see("/note: must be shorter")
        terminal.see('Enter takes "far too long"')
        terminal.type("soon")
        assert '"flight": "AZ2"' in terminal.see("Send it?")
        terminal.type("y")
        terminal.see("Recorded")
        assert terminal.end() == 0
    kept = stored(database, noun_id)
    assert kept.resume_payload == {"flight": "AZ2", "note": "soon"}


def test_a_person_sees_the_whole_action_before_approving_it(database: Path, folder: Path, env: dict[str, str]) -> None:
    payload = {"message": "Pay?\x1b[2J", "action": {"name": "pay", "arguments": {"to": "x" * 400, "sum": 5}}}
    noun_id = ask(database, payload).continuation.id
    with Terminal("answer", noun_id, env=env, folder=folder) as terminal:
        sheet = terminal.see("approved  yes or no")
        assert "x" * 400 in sheet.replace("\n│ ", "")
        assert '"sum": 5' in sheet
        assert r"Pay?\x1b[2J" in sheet
        terminal.type("yes")
        terminal.see("note  text, optional")
        terminal.type("")
        terminal.see("This approves pay with exactly the arguments above.")
        terminal.see("Send it?")
        terminal.type("edit")
        terminal.see("Enter takes true")
        terminal.type("no")
        terminal.see("note")
        terminal.type("too much")
        terminal.see("This does not approve pay.")
        terminal.type("y")
        assert terminal.end() == 0
        assert "\x1b[2J" not in terminal.raw
    assert stored(database, noun_id).resume_payload == {"approved": False, "note": "too much"}


@pytest.mark.parametrize("ending", ["no", "", "\x04"])
def test_what_is_not_confirmed_is_not_sent(
    database: Path, folder: Path, noun_id: str, env: dict[str, str], ending: str
) -> None:
    with Terminal("answer", noun_id, env=env, folder=folder) as terminal:
        terminal.see("> ")
        terminal.type("AZ1")
        terminal.see("note")
        terminal.type("")
        terminal.see("Send it?")
        terminal.type(ending)
        terminal.see("Nothing was sent.")
        assert terminal.end() == 130
    assert stored(database, noun_id).status == "pending"


def test_an_interrupt_sends_nothing(database: Path, folder: Path, noun_id: str, env: dict[str, str]) -> None:
    with Terminal("answer", noun_id, env=env, folder=folder) as terminal:
        terminal.see("> ")
        assert terminal.interrupt() == 130
        assert "Traceback" not in terminal.text
    assert stored(database, noun_id).status == "pending"


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_an_answer_that_is_given_on_a_terminal_is_confirmed_unless_it_says_yes(
    database: Path, folder: Path, env: dict[str, str], words: tuple[str, ...]
) -> None:
    noun_id = ask(database, BOOKING).continuation.id
    with Terminal("answer", noun_id, "--json", '{"approved": true}', *words, env=env, folder=folder) as terminal:
        if not words:
            assert "Book it?" in terminal.see("This approves book_flight")
            terminal.see("Send it?")
            terminal.type("yes")
        terminal.see('"replayed": false')
        assert terminal.end() == 0


def test_an_answer_that_is_given_on_a_terminal_and_not_confirmed_is_not_sent(
    database: Path, folder: Path, env: dict[str, str]
) -> None:
    noun_id = ask(database, BOOKING).continuation.id
    with Terminal("answer", noun_id, "--json", '{"approved": true}', env=env, folder=folder) as terminal:
        terminal.see("Send it?")
        terminal.type("perhaps")
        terminal.see("Send it?")
        terminal.type("")
        terminal.see("Nothing was sent.")
        assert terminal.end() == 130
    assert stored(database, noun_id).status == "pending"


def test_what_is_decided_or_not_for_operators_is_not_asked(database: Path, folder: Path, env: dict[str, str]) -> None:
    answered = ask(database).continuation.id
    cancelled = ask(database).continuation.id
    with pausemesh.open_sync(database) as mesh:
        mesh.answer(answered, by=ANA, idempotency_key="k", payload={"flight": "AZ1"})
        mesh.cancel(cancelled)
        by_token = mesh.create(payload=FLIGHT, answerable_by=["token"]).continuation.id
    for noun_id, code, word in (
        (answered, 4, "TOKEN_ALREADY_USED"),
        (cancelled, 4, "CONTINUATION_CANCELLED"),
        (by_token, 6, "FORBIDDEN"),
    ):
        with Terminal("answer", noun_id, env=env, folder=folder) as terminal:
            terminal.see(word)
            assert terminal.end() == code
