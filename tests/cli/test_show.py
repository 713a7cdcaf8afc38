"""A question is shown whole."""

from pathlib import Path

import pausemesh
from pausemesh.cli.plain_text import is_dangerous
from tests.cli.conftest import ANA, BOOKING, Run, ask


def unfolded(out: str) -> str:
    return "".join(line.removeprefix("│ ") for line in out.splitlines())


def test_everything_of_an_open_question_is_shown(run: Run, database: Path) -> None:
    long = "x" * 3_000
    payload = {**BOOKING, "responseSchema": {"type": "boolean"}, "risk": "high"}
    payload["action"] = {"name": "book_flight", "arguments": {"note": long, "flight": "AZ1"}}
    asked = ask(database, payload, metadata={"team": "travel"}, correlation_id="trip-42")
    done = run("show", asked.continuation.id)
    assert (done.code, done.err) == (0, "")
    for word in (
        asked.continuation.id, "pending", "approval", "travel-agent", "trip-42", "operator", "Book it?", "book_flight",
        '"flight": "AZ1"', '"type": "boolean"', '"risk": "high"', '"team": "travel"', "continuation.created",
    ):  # fmt: skip
        assert word in done.out, word
    assert asked.continuation.shown_digest in done.out
    assert long in unfolded(done.out)


def test_the_decision_the_claim_and_the_effects_are_shown(run: Run, database: Path) -> None:
    asked = ask(database, BOOKING)
    noun_id = asked.continuation.id
    with pausemesh.open_sync(database) as mesh:
        mesh.answer(noun_id, by=ANA, idempotency_key="desk-1", payload={"approved": True})
        with mesh.claim(noun_id, worker="w1") as turn:
            turn.effect("book", kind="book_flight", arguments={"flight": "AZ1", "seats": 2}, run=lambda **_: {"t": 7})
    done = run("show", noun_id)
    for word in ("resumed", "ana", "desk-1", '"approved": true', "w1", "done", "book", "completed", '"t": 7'):
        assert word in done.out, word
    shown = run("show", noun_id, "--json").json
    assert shown["continuation"]["claim"]["status"] == "done"
    assert [event["type"] for event in shown["events"]] == ["continuation.created", "continuation.resumed"]
    assert shown["events"][0]["data"]["by"] == {"kind": "agent", "id": "travel-agent"}
    (effect,) = shown["effects"]
    assert (effect["key"], effect["status"], effect["result"], effect["attempts"]) == ("book", "completed", {"t": 7}, 1)


def test_a_cancellation_and_who_took_the_question_back_are_shown(run: Run, database: Path) -> None:
    asked = ask(database)
    with pausemesh.open_sync(database) as mesh:
        mesh.cancel(asked.continuation.id, reason="the trip is off")
    done = run("show", asked.continuation.id)
    assert "cancelled" in done.out
    assert "the trip is off" in done.out
    assert "the host" in done.out


def test_a_payload_that_is_no_object_is_shown(run: Run, database: Path) -> None:
    asked = ask(database, [1, None])
    assert "null" in run("show", asked.continuation.id).out


def test_no_line_of_a_message_can_look_like_one_of_the_commands_own(run: Run, database: Path) -> None:
    evil = "Harmless\nstatus         resumed\n\x1b[2J\u2028[bold]x"
    asked = ask(database, {"message": evil}, metadata={"\u202ekey": "\x9b31m"})
    done = run("show", asked.continuation.id)
    assert not [character for character in done.out if is_dangerous(character) and character != "\n"]
    assert [line for line in done.out.splitlines() if "resumed" in line] == ["│ status         resumed"]
    assert r"\u202ekey" in done.out
    assert r"\x1b[2J\u2028[bold]x" in done.out


def test_neither_a_token_nor_its_digest_is_shown(run: Run, database: Path) -> None:
    asked = ask(database, by=None, idempotency_key="k")
    out = run("show", asked.continuation.id).out + run("show", asked.continuation.id, "--json").out
    assert asked.resume_token is not None
    for secret in (asked.resume_token, "tokenHash", "requestDigest"):
        assert secret not in out


def test_an_unknown_question_is_not_found(run: Run, database: Path) -> None:
    ask(database)
    for noun_id in ("q_unknown", "", "a/b", "\udcff"):
        done = run("show", noun_id)
        assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert run("show", "q_unknown", "--json").problem["code"] == "CONTINUATION_NOT_FOUND"
