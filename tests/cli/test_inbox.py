"""The inbox shows what waits, to a person and to a script."""

import os
from datetime import timedelta
from pathlib import Path

import pausemesh
from pausemesh.cli.plain_text import is_dangerous
from tests.cli.conftest import ANA, BOOKING, Run, ask
from tests.cli.terminal import Terminal


def test_it_shows_id_kind_message_who_asks_age_and_time_left(run: Run, database: Path) -> None:
    asked = ask(database, BOOKING, correlation_id="trip-42", expires_in=timedelta(hours=5))
    done = run("inbox")
    assert (done.code, done.err) == (0, "")
    for word in (asked.continuation.id, "approval", "Book it?", "book_flight", "travel-agent", "trip-42", "4 h 59 min"):
        assert word in done.out
    assert "1 question waits." in done.out


def test_what_is_decided_has_left_it(run: Run, database: Path) -> None:
    first, second = ask(database), ask(database)
    with pausemesh.open_sync(database) as mesh:
        mesh.answer(first.continuation.id, by=ANA, idempotency_key="k", payload={"flight": "AZ1"})
    done = run("inbox", "--json")
    assert [one["continuationId"] for one in done.json["continuations"]] == [second.continuation.id]
    assert done.json["nextCursor"] is None


def test_it_can_be_asked_for_some_kinds_correlations_and_numbers(run: Run, database: Path) -> None:
    for number in range(3):
        ask(database, BOOKING if number == 1 else None, correlation_id=f"trip-{number}", continuation_id=f"q{number}")

    def found(*words: str) -> list[str]:
        return [one["continuationId"] for one in run("inbox", "--json", *words).json["continuations"]]

    assert found() == ["q0", "q1", "q2"]
    assert found("--kind", "approval") == ["q1"]
    assert found("--correlation", "trip-2") == ["q2"]
    assert found("--limit", "2") == ["q0", "q1"]
    assert found("--limit", "2", "--all") == ["q0", "q1", "q2"]
    cursor = run("inbox", "--limit", "2", "--json").json["nextCursor"]
    assert found("--cursor", cursor) == ["q2"]
    assert run("inbox", "--cursor", "made-up", "--json").problem["code"] == "INVALID_CURSOR"
    assert "there are more" in run("inbox", "--limit", "2").out


def test_all_goes_over_the_pages(run: Run, database: Path) -> None:
    with pausemesh.open_sync(database) as mesh:
        for number in range(201):
            mesh.create(payload=number)
    assert len(run("inbox", "--all", "--json").json["continuations"]) == 201
    assert len(run("inbox", "--limit", "201", "--json").json["continuations"]) == 201


def test_an_empty_one_says_where_it_looked_and_what_to_do(run: Run, database: Path) -> None:
    with pausemesh.open_sync(database):
        pass
    done = run("inbox")
    assert done.code == 0
    assert str(database) in done.out.replace("\n", "")
    assert "as soon as an agent asks" in done.out
    assert "--kind" in run("inbox", "--kind", "input").out


def test_a_scope_has_an_inbox_of_its_own(run: Run, database: Path) -> None:
    ask(database)
    assert run("inbox", "--scope", "elsewhere", "--json").json["continuations"] == []
    assert "elsewhere" in run("inbox", "--scope", "elsewhere").out


def test_a_host_asks_without_a_name(run: Run, database: Path) -> None:
    ask(database, by=None)
    assert "the host" in run("inbox").out


def test_a_payload_without_a_message_is_shown_itself(run: Run, database: Path) -> None:
    ask(database, [1, "two"])
    assert '[1, "two"]' in run("inbox").out


def test_a_payload_that_is_text_is_its_own_message(run: Run, database: Path) -> None:
    ask(database, "only text")
    shown = run("inbox").out
    assert "only text" in shown
    assert '"only text"' not in shown


def test_nothing_in_it_acts_on_a_terminal(run: Run, database: Path) -> None:
    evil = "\x1b]0;owned\x07[bold red]x[/] :smile: \u202e\u200b\u2028" + "w" * 5_000
    ask(database, {"message": evil, "action": {"name": "pay"}}, correlation_id="\u202etrip")
    done = run("inbox")
    assert done.code == 0
    assert not [character for character in done.out if is_dangerous(character) and character != "\n"]
    assert r"\x1b]0;owned\x07[bold" in done.out
    as_json = run("inbox", "--json")
    assert not [character for character in as_json.out if is_dangerous(character) and character != "\n"]
    assert as_json.json["continuations"][0]["payload"]["message"] == evil


def test_bad_words_are_said_in_one_line(run: Run, database: Path) -> None:
    ask(database)
    for words in (("--limit", "0"), ("--watch",), ("--watch", "--json"), ("--scope", ".x")):
        done = run("inbox", *words)
        assert (done.code, done.out) == (1, ""), words
    assert run("inbox", "--watch", "--json").problem["code"] == "INVALID_REQUEST"


def test_watching_draws_again_until_it_is_interrupted(database: Path, folder: Path) -> None:
    ask(database, {"message": "The first?"})
    with Terminal("inbox", "--watch", env={**os.environ}, folder=folder) as terminal:
        terminal.see("The first?")
        ask(database, {"message": "The second?"})
        terminal.see("The second?")
        assert terminal.interrupt() == 0


def test_watching_goes_on_where_a_server_is_away(folder: Path) -> None:
    away = {**os.environ, "PAUSEMESH_URL": "http://127.0.0.1:1", "PAUSEMESH_API_KEY": "pmk_x"}
    with Terminal("inbox", "--watch", env=away, folder=folder) as terminal:
        terminal.see("The server cannot be reached")
        assert terminal.interrupt() == 0
