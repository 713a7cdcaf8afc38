"""What all requests share: the patience of those that wait, and the room for those that work."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import pausemesh
from pausemesh.server import limits
from pausemesh.server.settings import Parser
from tests.server.calls import Wish
from tests.server.harness import Client, RunningServer, Wire

IDLE = 1_000
FOR_EVER = 100_000


def path_of(created: Any) -> str:
    return f"/v1/continuations/{created['continuation']['continuationId']}"


@contextlib.contextmanager
def held(database: Path) -> Iterator[None]:
    """Let nobody write into a database as long as the block runs."""
    with contextlib.closing(apsw.Connection(str(database))) as connection:  # of another library it would drop our locks
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


class TestWaiting:
    """A long-poll ends with the decision, however it comes, and costs next to nothing until then."""

    @pytest.fixture(autouse=True)
    def _long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let waits be so long that only a decision ends them within a test."""
        monkeypatch.setattr(limits, "WAIT_SECONDS", FOR_EVER)

    @contextlib.contextmanager
    def waiting(self, server: RunningServer, client: Client, created: Any) -> Iterator[Wire]:
        with server.wire() as wire:
            wire.send(Wish("GET", f"{path_of(created)}?wait={FOR_EVER}", key=client.key).wire())
            assert server.until_waiting(1)
            yield wire
        assert server.until_waiting(0)

    @pytest.mark.parametrize("verb", ["resume", "cancel", "answer"])
    def test_it_ends_with_a_decision(self, server: RunningServer, editor: Client, verb: str) -> None:
        created = editor.ask()
        body = {"payload": 1, "shownDigest": created["continuation"]["shownDigest"]} if verb != "cancel" else {}
        with self.waiting(server, editor, created) as wire:
            token = created["resumeToken"] if verb == "resume" else None
            decided = editor.post(f"{path_of(created)}/{verb}", body, key="k", token=token)
            shown = wire.reply().json["continuation"]
        assert shown.pop("claim") == {"status": "open", "fence": 0} or verb == "cancel"
        assert shown["status"] == decided.json["continuation"]["status"]

    def test_it_ends_with_a_decision_that_another_process_makes(self, tmp_path: Path) -> None:
        database = tmp_path / "q.db"
        with RunningServer(database=database) as server, server.client("editor") as editor:
            created = editor.ask()
            with self.waiting(server, editor, created) as wire:
                with pausemesh.open_sync(database, clock=server.clock) as elsewhere:
                    elsewhere.cancel(created["continuation"]["continuationId"])
                assert wire.reply().json["continuation"]["status"] == "cancelled"

    def test_it_ends_with_an_answer_of_null(self, server: RunningServer, editor: Client) -> None:
        created = editor.ask()
        for _ in range(2):
            assert editor.get(f"{path_of(created)}?wait=0.01").json["continuation"]["status"] == "pending"
        with self.waiting(server, editor, created) as wire:
            editor.resume(created, None)
            shown = wire.reply().json["continuation"]
        assert (shown["status"], shown["resumePayload"]) == ("resumed", None)

    def test_a_decided_question_is_not_waited_for(self, editor: Client) -> None:
        created = editor.ask()
        editor.resume(created, 1)
        assert editor.get(f"{path_of(created)}?wait={FOR_EVER}").json["continuation"]["status"] == "resumed"

    def test_a_token_that_was_issued_anew_ends_no_wait(self, server: RunningServer, editor: Client) -> None:
        created = editor.ask()
        with self.waiting(server, editor, created) as wire:
            again = editor.post(f"{path_of(created)}/token", {}).json
            editor.resume(again, 1)
            assert wire.reply().json["continuation"]["status"] == "resumed"

    def test_who_goes_is_not_waited_for_any_more(self, server: RunningServer, editor: Client) -> None:
        with self.waiting(server, editor, editor.ask()):
            pass
        assert server.app.serving.in_flight == 0

    def test_a_thousand_that_wait_need_no_thread_and_all_hear_of_it(
        self, server: RunningServer, editor: Client
    ) -> None:
        created = editor.ask()
        wish = Wish("GET", f"{path_of(created)}?wait={FOR_EVER}", key=editor.key).wire()
        threads = threading.active_count()
        with contextlib.ExitStack() as stack:
            wires = [stack.enter_context(server.wire()).send(wish) for _ in range(IDLE)]
            assert server.until_waiting(IDLE)
            assert threading.active_count() == threads
            assert server.app.serving.in_flight == 0
            editor.resume(created, 1)
            assert {wire.reply().json["continuation"]["status"] for wire in wires} == {"resumed"}
        assert server.until_waiting(0)

    def test_too_many_that_wait_are_told_to_come_later(
        self, server: RunningServer, editor: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        created = editor.ask()
        with self.waiting(server, editor, created):
            monkeypatch.setattr(limits, "WAITING", 1)
            refusal = editor.get(f"{path_of(created)}?wait={FOR_EVER}")
            assert refusal.outcome == (503, "OVERLOADED")
            assert editor.get(path_of(created)).status == 200
            body = {"queue": "q", "worker": "w", "leaseSeconds": 60, "wait": 25}
            assert editor.post("/v1/claims", body).outcome == (503, "OVERLOADED")


class TestRoom:
    """More than can be worked on at once is told to come later; what was let in is finished."""

    def test_the_next_is_told_when_to_come_again_and_those_at_work_end(
        self, parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT", 3)
        database = tmp_path / "q.db"
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(RunningServer(parser=parser, database=database))
            editor = stack.enter_context(server.client("editor"))
            before = server.last_seq
            wish = Wish("POST", "/v1/continuations", {"payload": 1}, key=editor.key).wire()
            with held(database):
                working = [stack.enter_context(server.wire()).send(wish) for _ in range(3)]
                assert server.until(lambda: server.app.serving.in_flight == 3)
                refusal = editor.post("/v1/continuations", {"payload": 1})
                assert refusal.outcome == (503, "OVERLOADED")
                assert refusal.headers["retry-after"] == "1"
                assert [editor.get(path).status for path in ("/healthz", "/readyz")] == [200, 200]
            assert [wire.reply().status for wire in working] == [201] * 3
            assert editor.post("/v1/continuations", {"payload": 1}).status == 201
            assert server.last_seq == before + 4

    def test_who_is_slow_to_send_takes_no_room(
        self, server: RunningServer, editor: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT", 1)
        wish = Wish("POST", "/v1/continuations", {"payload": 1}, key=editor.key).wire()
        with contextlib.ExitStack() as stack:
            slow = [stack.enter_context(server.wire()).send(wish[:-1]) for _ in range(5)]
            assert editor.post("/v1/continuations", {"payload": 1}).status == 201
            assert [wire.send(wish[-1:]).reply().status for wire in slow] == [201] * 5

    def test_who_only_waits_takes_no_room(
        self, server: RunningServer, editor: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        created = editor.ask()
        wish = Wish("GET", f"{path_of(created)}?wait=25", key=editor.key).wire()
        monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT", 1)
        with contextlib.ExitStack() as stack:
            for number in range(1, 5):
                stack.enter_context(server.wire()).send(wish)
                assert server.until_waiting(number)
            assert editor.get(path_of(created)).status == 200
        assert server.until_waiting(0)
