"""The command says and does the same over a real server as on its database."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pausemesh
from tests.cli.conftest import BOOKING, Run, ask
from tests.cli.terminal import Terminal
from tests.environment import without_settings

AZ1 = '{"flight": "AZ1"}'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A database, and the address of a server on it."""
    database = tmp_path_factory.mktemp("served") / "q.db"
    words = ["serve", "--port", "0", "--database-path", str(database), "--log-level", "error"]
    environment = without_settings()
    server = subprocess.Popen(
        [sys.executable, "-m", "pausemesh", *words], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert server.stdout is not None
    try:
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        yield database, address[0]
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


@pytest.fixture
def database(served: tuple[Path, str]) -> Path:
    """The database behind the server; nothing in the environment names it."""
    return served[0]


@pytest.fixture
def editor(served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an editor's key; the environment names it and the server."""
    with pausemesh.open_sync(served[0]) as mesh:
        made = mesh.create_key("editor")
    monkeypatch.setenv("PAUSEMESH_URL", served[1])
    monkeypatch.setenv("PAUSEMESH_API_KEY", made.text)
    return made.key.id


@pytest.mark.usefixtures("editor")
def test_a_server_tells_what_its_database_tells(run: Run, database: Path) -> None:
    asked = ask(database, BOOKING, correlation_id="same-words", metadata={"team": "ä\u202e"})
    local = ("--database-path", str(database))
    words = ("inbox", "--correlation", "same-words")
    over_http, here = run(*words, "--json"), run(*words, "--json", *local)
    assert (over_http.code, over_http.out) == (0, here.out)
    for shown in (run(*words), run(*words, *local)):
        assert all(word in shown.out for word in (asked.continuation.id, "travel-agent", "book_flight"))
    told, known = (run("show", asked.continuation.id, "--json", *more).json for more in ((), local))
    assert told == known


def test_an_answer_counts_once_and_its_repeat_gets_the_recorded_outcome(run: Run, database: Path, editor: str) -> None:
    noun_id = ask(database).continuation.id
    words = ("answer", noun_id, "--json", AZ1, "--idempotency-key", 'the "first" \\ key')
    first, again = run(*words), run(*words)
    assert (first.code, first.json["replayed"], again.code, again.json["replayed"]) == (0, False, 0, True)
    assert first.json["continuation"] == again.json["continuation"]
    assert first.json["continuation"]["by"] == {"kind": "operator", "id": f"key:{editor}"}
    late = run("answer", noun_id, "--json", '{"flight": "AZ2"}')
    assert (late.code, late.problem["code"]) == (4, "TOKEN_ALREADY_USED")
    assert run("cancel", noun_id).code == 4


@pytest.mark.usefixtures("editor")
def test_refusals_end_as_they_do_on_the_database(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    for words in (
        ("show", "q_unknown"),
        ("show", "a/b"),
        ("answer", noun_id, "--json", '{"flight": "XX"}'),
        ("answer", noun_id, "--json", AZ1, "--shown-digest", "0" * 64),
        ("answer", noun_id, "--json", AZ1, "--idempotency-key", " "),
        ("cancel", noun_id, "--reason", "x" * 501),
        ("inbox", "--limit", "0"),
    ):
        over_http, here = run(*words), run(*words, "--database-path", str(database))
        assert (over_http.code, over_http.out) == (here.code, ""), words
        assert here.code != 0


@pytest.mark.usefixtures("editor")
def test_a_cancellation_is_recorded(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    assert run("cancel", noun_id, "--reason", "off").code == 0
    assert run("cancel", noun_id, "--reason", "off", "--json").json["continuation"]["reason"] == "off"


@pytest.mark.usefixtures("editor")
def test_a_person_answers_and_corrects_over_http(database: Path, folder: Path) -> None:
    noun_id = ask(database).continuation.id
    with Terminal("answer", noun_id, env={**os.environ}, folder=folder) as terminal:
        terminal.see("> ")
        terminal.type("1")
        terminal.see("note")
        terminal.see("> ")
        terminal.type("far too long")
        terminal.see("Send it?")
        terminal.type("yes")
        terminal.see("/note: must be shorter")
        terminal.see("> ")
        terminal.type("-")
        terminal.see("Send it?")
        terminal.type("yes")
        terminal.see("Recorded")
        assert terminal.end() == 0
    with pausemesh.open_sync(database) as mesh:
        assert mesh.inspect(noun_id).resume_payload == {"flight": "AZ1"}


@pytest.mark.usefixtures("editor")
def test_who_may_not_is_refused(run: Run, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noun_id = ask(database).continuation.id
    with pausemesh.open_sync(database) as mesh:
        viewer, revoked = mesh.create_key("viewer"), mesh.create_key("admin")
        mesh.revoke_key(revoked.key.id)
    monkeypatch.setenv("PAUSEMESH_API_KEY", viewer.text)
    assert run("inbox").code == 0
    assert run("answer", noun_id, "--json", AZ1).problem["code"] == "FORBIDDEN"
    assert run("cancel", noun_id).code == 6
    monkeypatch.setenv("PAUSEMESH_API_KEY", revoked.text)
    done = run("inbox", "--json")
    assert (done.code, done.problem["code"]) == (6, "UNAUTHENTICATED")


@pytest.mark.usefixtures("editor")
def test_the_key_says_the_scope(run: Run) -> None:
    done = run("inbox", "--scope", "trips")
    assert (done.code, done.out) == (1, "")


@pytest.mark.usefixtures("editor")
def test_a_key_can_be_in_a_file(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "key").write_text(os.environ["PAUSEMESH_API_KEY"] + "\n", encoding="ascii")
    monkeypatch.delenv("PAUSEMESH_API_KEY")
    monkeypatch.setenv("PAUSEMESH_API_KEY_FILE", str(folder / "key"))
    assert run("inbox").code == 0
    monkeypatch.setenv("PAUSEMESH_API_KEY_FILE", str(folder / "missing"))
    assert run("inbox").code == 1


@pytest.mark.usefixtures("editor")
def test_without_a_key_it_is_about_the_database_here_and_says_so(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(database)
    monkeypatch.delenv("PAUSEMESH_API_KEY")
    monkeypatch.setenv("PAUSEMESH_DATABASE_PATH", str(database))
    done = run("inbox")
    assert done.code == 0
    assert f"PAUSEMESH_API_KEY is not set, so this is about the database {database}" in done.err


@pytest.mark.usefixtures("editor")
def test_a_server_that_is_not_there_is_unavailable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAUSEMESH_URL", "http://127.0.0.1:1")
    done = run("inbox", "--json")
    assert (done.code, done.out, done.problem["code"]) == (7, "", "SERVER_UNAVAILABLE")
