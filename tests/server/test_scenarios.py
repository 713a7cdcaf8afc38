"""Failures from the field, on two real server processes over one database."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pausemesh
from tests.server.answers import Reply
from tests.server.calls import ACTION, SCHEMA, Wish
from tests.server.harness import Client, Wire
from tests.server.served import Served, key_of

CRASHING = (sys.executable, str(Path(__file__).with_name("crashing_server.py")))


class Pair(NamedTuple):
    """Two server processes over one database, and a client of each with an editor's key."""

    database: Path
    key: str
    one: Client
    other: Client

    def wire(self, number: int) -> Wire:
        """Return a connection to one of them by turns."""
        return Wire((self.one, self.other)[number % 2].port)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with Served(folder) as first, Served(folder, "--parser", "h11") as second:
        assert first.port
        assert second.port
        key = key_of(first.database, "editor")
        with first.client(key) as one, second.client(key) as other:
            yield Pair(first.database, key, one, other)


def path_of(created: Any, verb: str = "") -> str:
    return f"/v1/continuations/{created['continuation']['continuationId']}{verb}"


def at_once(pair: Pair, wishes: list[Wish]) -> list[Reply]:
    """Send requests to both by turns, all before the first answer is read."""
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(pair.wire(number)) for number in range(len(wishes))]
        for wire, wish in zip(wires, wishes, strict=True):
            wire.send(wish.wire())
        return [wire.reply() for wire in wires]


def answer(pair: Pair, created: Any, payload: Any, key: str) -> Wish:
    headers = {"Authorization": f"PauseMesh {created['resumeToken']}", "Idempotency-Key": key}
    return Wish("POST", path_of(created, "/resume"), {"payload": payload}, key=pair.key, headers=headers)


def pending(client: Client, correlation: str) -> list[Any]:
    found = client.get(f"/v1/continuations?status=pending&correlationId={correlation}").json["continuations"]
    return [one["continuationId"] for one in found]


def test_everybody_answers_at_once_and_one_counts_and_one_goes_on_and_the_effect_is_done_once(pair: Pair) -> None:
    created = pair.one.ask({"message": "Which flight?"}, correlationId="at once")
    replies = at_once(pair, [answer(pair, created, f"AZ{number}", f"k{number}") for number in range(20)])
    winner = next(reply for reply in replies if reply.status == 200)
    losers = [reply for reply in replies if reply.status != 200]
    assert {reply.outcome for reply in losers} == {(409, "TOKEN_ALREADY_USED")}
    recorded = {json.dumps(reply.json["recorded"]) for reply in losers}
    decided = winner.json["continuation"]
    assert [json.loads(text)["decidedAt"] for text in recorded] == [decided["resumedAt"]]
    assert pending(pair.one, "at%20once") == pending(pair.other, "at%20once") == []

    worker = {"worker": "w", "leaseSeconds": 60}
    claims = at_once(pair, [Wish("POST", path_of(created, "/claim"), worker, key=pair.key) for _ in range(20)])
    assert sorted(reply.status for reply in claims) == [200] + [409] * 19
    effect = {"fence": 1, "key": "book"}
    claim = f"/v1/claims/{decided['continuationId']}"
    starts = at_once(pair, [Wish("POST", f"{claim}/effects", effect, key=pair.key) for _ in range(20)])
    assert sorted(reply.status for reply in starts) == [200] + [409] * 19
    assert {reply.outcome for reply in starts if reply.status != 200} == {(409, "EFFECT_UNKNOWN")}
    done = {"fence": 1, "status": "completed", "result": "ticket"}
    assert pair.other.post(f"{claim}/effects/book/outcome", done).status == 200
    again = [client.post(f"{claim}/effects", effect).json for client in (pair.one, pair.other)]
    assert [(found["replayed"], found["effect"]["result"]) for found in again] == [(True, "ticket")] * 2


def test_every_copy_of_one_answer_gets_the_same_bytes_from_both(pair: Pair) -> None:
    created = pair.one.ask()
    replies = at_once(pair, [answer(pair, created, {"b": 1, "a": [2.5, None]}, "k") for _ in range(20)])
    assert len({reply.body.replace(b"true", b"false") for reply in replies}) == 1
    assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * 19


def test_an_answer_that_is_sent_twice_does_not_answer_the_next_question(pair: Pair) -> None:
    first, second = (pair.one.ask({"message": f"Q{number}"}, correlationId="run") for number in range(2))
    for client in (pair.one, pair.other):
        assert client.resume(first, "yes").status == 200
    assert client.get(f"{path_of(first)}?wait=1").json["continuation"]["resumePayload"] == "yes"
    assert pending(pair.one, "run") == [second["continuation"]["continuationId"]]
    stolen = {**second, "resumeToken": first["resumeToken"]}
    assert pair.one.resume(stolen, "yes").outcome == (401, "TOKEN_MISMATCH")


def test_of_two_questions_with_one_id_one_is_created_wherever_they_are_asked(pair: Pair) -> None:
    body = {"payload": "Which flight?", "continuationId": "trip-42"}
    replies = at_once(pair, [Wish("POST", "/v1/continuations", {**body, "metadata": {"n": n}}, key=pair.key)
                             for n in range(10)])  # fmt: skip
    assert sorted(reply.status for reply in replies) == [201] + [409] * 9
    headers = {"Idempotency-Key": "trip-43"}
    keyed = Wish("POST", "/v1/continuations", {"payload": "Which flight?"}, key=pair.key, headers=headers)
    found = at_once(pair, [keyed] * 10)
    assert sorted(reply.status for reply in found) == [200] * 9 + [201]
    assert len({reply.json["continuation"]["continuationId"] for reply in found}) == 1


def test_the_same_key_and_correlation_in_another_scope_is_another_question(pair: Pair) -> None:
    with pausemesh.open_sync(pair.database) as mesh:
        key = mesh.create_key("editor", scope="elsewhere").text
    with Client(pair.other.port, key) as stranger:
        asked = {"correlation": "shared"}
        mine, theirs = (client.ask(asked, key="shared", correlationId="shared") for client in (pair.one, stranger))
        assert pair.one.resume(mine, "yes").status == 200
        shown = stranger.get(f"{path_of(theirs)}?wait=0.05").json["continuation"]
        assert shown["status"] == "pending"
        assert pending(stranger, "shared") == [theirs["continuation"]["continuationId"]]
        assert stranger.resume({**theirs, "continuation": mine["continuation"]}, 1).status == 404


def test_an_answer_of_the_wrong_kind_leaves_the_question_open_everywhere(pair: Pair) -> None:
    created = pair.one.ask({"action": ACTION})
    body = {"payload": {"flight": "AZ1"}, "shownDigest": created["continuation"]["shownDigest"]}
    assert pair.other.post(path_of(created, "/answer"), body, key="k").outcome == (422, "ANSWER_INVALID")
    assert pair.one.resume(created, {"approved": True, "unknown": 1}).outcome == (422, "ANSWER_INVALID")
    assert pair.other.get(path_of(created)).json["continuation"]["version"] == 1


def test_a_claim_and_its_effects_go_on_at_the_other_server(pair: Pair) -> None:
    created = pair.one.ask({"responseSchema": SCHEMA}, queue="q")
    pair.other.resume(created, {"flight": "AZ1"})
    taken = pair.one.post("/v1/claims", {"queue": "q", "worker": "w", "leaseSeconds": 60, "wait": 25}).json
    claim, fence = f"/v1/claims/{taken['claim']['claimId']}", taken["claim"]["fence"]
    assert pair.other.post(f"{claim}/renew", {"fence": fence}).status == 200
    assert pair.other.post(f"{claim}/effects", {"fence": fence, "key": "book"}).status == 200
    done = {"fence": fence, "status": "completed"}
    assert pair.one.post(f"{claim}/effects/book/outcome", done).status == 200
    assert pair.other.post(f"{claim}/done", {"fence": fence}).json["claim"]["status"] == "done"
    assert pair.one.get(path_of(created)).json["continuation"]["claim"]["status"] == "done"


class TestRestart:
    """What was acknowledged is there after a kill, and what was not can be asked for again."""

    def test_the_pending_list_is_the_same_and_the_answer_is_carried_out_once(self, tmp_path: Path) -> None:
        with Served(tmp_path) as served:
            assert served.port
            key = key_of(served.database)
            with served.client(key) as client:
                created = client.ask({"message": "Which flight?"})
                before = client.get("/v1/continuations?status=pending").body
            served.kill()
        with Served(tmp_path) as served, served.client(key) as client:
            assert client.get("/v1/continuations?status=pending").body == before
            assert client.resume(created, "AZ1").status == 200
            claim = client.post(path_of(created, "/claim"), {"worker": "w", "leaseSeconds": 60}).json["claim"]
            path = f"/v1/claims/{claim['claimId']}/effects"
            assert client.post(path, {"fence": 1, "key": "book"}).json["effect"]["status"] == "started"
            served.kill()
        with Served(tmp_path) as served, served.client(key) as client:
            assert client.post(path, {"fence": 1, "key": "book"}).outcome == (409, "EFFECT_UNKNOWN")
            ledger = client.get(path_of(created, "/effects")).json["effects"]
            assert [effect["status"] for effect in ledger] == ["started"]

    @pytest.mark.parametrize(
        ("point", "status"), [("after_append_before_commit", 201), ("after_commit_before_reply", 200)]
    )
    def test_killed_between_stored_and_told_the_same_request_settles_it(
        self, tmp_path: Path, point: str, status: int
    ) -> None:
        with Served(tmp_path, launcher=CRASHING, CRASH_POINT=point) as served, served.wire() as wire:
            headers = {"Idempotency-Key": "ask-1"}
            wire.send(Wish("POST", "/v1/continuations", {"payload": 1}, headers=headers).wire())
            assert wire.is_closed
            assert served.wait() == -9
        with Served(tmp_path) as served, served.client() as client:
            again = client.post("/v1/continuations", {"payload": 1}, key="ask-1")
            assert again.status == status
            assert (again.json["resumeToken"] is None) == (status == 200)
            with served.client(key_of(served.database)) as admin:
                assert len(admin.get("/v1/continuations").json["continuations"]) == 1
                token = admin.post(path_of(again.json, "/token"), {}).json
                assert admin.resume(token, "AZ1").json["continuation"]["status"] == "resumed"
