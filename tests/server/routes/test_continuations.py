"""A question's life over HTTP: asked, answered once, taken back, expired; and what everybody else is told."""

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pausemesh.core.limits import REISSUES
from pausemesh.server.settings import Parser
from tests.server.answers import Reply
from tests.server.calls import SCHEMA, Wish
from tests.server.harness import Client, RunningServer

CONTINUATIONS = "/v1/continuations"
NEXT_WEEK = "2026-01-08T00:00:00Z"


def path_of(created: Any, verb: str = "") -> str:
    return f"{CONTINUATIONS}/{created['continuation']['continuationId']}{verb}"


def kept(reply: Reply) -> bytes:
    """The bytes of the member that every repeat has to get back."""
    assert reply.status == 200
    return reply.body.rpartition(b',"replayed":')[0]


def at_once(server: RunningServer, wishes: list[Wish]) -> list[Reply]:
    """Send requests on connections of their own, all before the first answer is read."""
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(server.wire()) for _ in wishes]
        for wire, wish in zip(wires, wishes, strict=True):
            wire.send(wish.wire())
        return [wire.reply() for wire in wires]


class TestCreation:
    """Asking."""

    def test_it_gives_the_question_and_its_token_once(self, editor: Client) -> None:
        reply = editor.post(CONTINUATIONS, {"payload": {"message": "Which flight?"}, "metadata": {"a": [1]}})
        created = reply.json
        question = created["continuation"]
        assert reply.status == 201
        assert created["resumeToken"].startswith("pmr_")
        assert (question["status"], question["version"], question["owner"]) == ("pending", 1, None)
        assert question["answerableBy"] == ["token", "operator"]
        assert question["metadata"] == {"a": [1]}
        assert question["createdAt"] == "2026-01-01T00:00:00.000Z"
        assert question["expiresAt"] == "2026-01-08T00:00:00.000Z"
        assert "claim" not in question
        for path in (path_of(created), path_of(created, "/events"), CONTINUATIONS):
            assert created["resumeToken"] not in editor.get(path).body.decode()

    def test_left_out_ids_are_made_and_given_ones_are_kept(self, editor: Client) -> None:
        made = [editor.ask()["continuation"] for _ in range(2)]
        assert len({one["continuationId"] for one in made} | {one["correlationId"] for one in made}) == 4
        given = editor.ask(continuationId="Trip 42 ~@:.-_", correlationId=" caf\xe9/\N{GRINNING FACE} ")["continuation"]
        assert given["continuationId"] == "Trip 42 ~@:.-_"
        assert given["correlationId"] == " caf\xe9/\N{GRINNING FACE} "
        assert editor.get(f"{CONTINUATIONS}/Trip%2042%20~@:.-_").json["continuation"] == given

    def test_a_taken_id_is_409_and_leaves_the_first_question_and_its_token_alone(self, editor: Client) -> None:
        created = editor.ask(1, continuationId="taken")
        refusal = editor.post(CONTINUATIONS, {"payload": 2, "continuationId": "taken"})
        assert refusal.outcome == (409, "CONTINUATION_EXISTS")
        assert editor.resume(created, 3).json["continuation"]["payload"] == 1

    def test_of_many_that_want_one_id_at_once_one_gets_it(self, server: RunningServer, editor: Client) -> None:
        wishes = [
            Wish("POST", CONTINUATIONS, {"payload": number, "continuationId": "wanted"}, key=editor.key)
            for number in range(20)
        ]
        replies = at_once(server, wishes)
        assert sorted(reply.status for reply in replies) == [201] + [409] * 19

    def test_a_repeat_under_its_key_finds_the_question_as_it_was_created(self, editor: Client) -> None:
        created = editor.post(CONTINUATIONS, {"payload": 1, "expiresAt": NEXT_WEEK}, key="ask-1")
        editor.resume(created.json, "yes")
        again = editor.post(CONTINUATIONS, {"expiresAt": NEXT_WEEK, "payload": 1.0}, key='"ask-1"')
        assert again.status == 200
        assert again.json == {**created.json, "resumeToken": None}
        assert again.json["continuation"]["status"] == "pending"

    @pytest.mark.parametrize(
        "members",
        [
            {"payload": 2},
            {"metadata": {"a": 1}},
            {"correlationId": "other"},
            {"queue": "other"},
            {"answerableBy": ["token"]},
            {"expiresAt": NEXT_WEEK},
        ],
    )
    def test_another_request_under_the_same_key_is_422(self, editor: Client, members: dict[str, Any]) -> None:
        body = {"payload": 1}
        editor.post(CONTINUATIONS, body, key="ask-2")
        refusal = editor.post(CONTINUATIONS, {**body, **members}, key="ask-2")
        assert refusal.outcome == (422, "IDEMPOTENCY_CONFLICT")

    def test_the_same_key_of_somebody_else_is_another_key(self, editor: Client, agent: Client, admin: Client) -> None:
        asked = [client.ask(1, key="ask-3")["continuation"]["continuationId"] for client in (editor, agent, admin)]
        assert len(set(asked)) == 3

    def test_of_many_copies_at_once_one_creates_and_all_find_the_same(
        self, server: RunningServer, editor: Client
    ) -> None:
        headers = {"Idempotency-Key": "ask-4"}
        replies = at_once(
            server, [Wish("POST", CONTINUATIONS, {"payload": 1}, key=editor.key, headers=headers) for _ in range(20)]
        )
        assert sorted(reply.status for reply in replies) == [200] * 19 + [201]
        assert len({json_of(reply) for reply in replies}) == 1
        assert sum(reply.json["resumeToken"] is not None for reply in replies) == 1

    def test_a_repeat_finds_its_question_however_late_it_is(self, parser: Parser) -> None:
        with RunningServer(parser=parser) as server, server.client("editor") as editor:
            body = {"payload": 1, "expiresAt": "2026-01-02T00:00:00Z"}
            created = editor.post(CONTINUATIONS, body, key="k").json
            server.clock.advance(timedelta(days=2))
            assert editor.post(CONTINUATIONS, body, key="k").json == {**created, "resumeToken": None}
            assert editor.get(path_of(created)).json["continuation"]["status"] == "expired"

    @pytest.mark.parametrize(
        ("schema", "path"),
        [
            ({"$ref": "https://evil.example/schema"}, "/$ref"),
            ({"type": "string", "pattern": "(?=a)b"}, "/pattern"),
            ({"$ref": "#"}, ""),
            ({"canary-keyword": 1}, "/canary-keyword"),
            ({"type": "canary-type"}, "/type"),
            (5, ""),
        ],
    )
    def test_a_schema_that_cannot_be_checked_safely_is_422_with_its_place(
        self, server: RunningServer, editor: Client, schema: Any, path: str
    ) -> None:
        before = server.last_seq
        refusal = editor.post(CONTINUATIONS, {"payload": {"responseSchema": schema}})
        assert refusal.outcome == (422, "SCHEMA_NOT_ALLOWED")
        assert refusal.json["issues"][0]["path"] == path
        assert server.last_seq == before


class TestResume:
    """The one answer that counts."""

    def test_it_answers_at_the_next_version_and_consumes_the_token(self, editor: Client) -> None:
        created = editor.ask()
        answered = editor.resume(created, {"flight": None}).json
        assert answered["replayed"] is False
        question = answered["continuation"]
        assert (question["status"], question["version"]) == ("resumed", 2)
        assert (question["resumePayload"], question["idempotencyKey"]) == ({"flight": None}, "k")
        assert question["by"] == {"kind": "token"}
        assert "claim" not in question
        refusal = editor.resume(created, {"flight": None}, key="another")
        assert refusal.outcome == (409, "TOKEN_ALREADY_USED")
        assert refusal.json["recorded"] == {"status": "resumed", "version": 2, "decidedAt": question["resumedAt"]}

    def test_of_many_answers_at_once_one_counts_and_the_others_are_told_which(
        self, server: RunningServer, editor: Client
    ) -> None:
        created = editor.ask()
        replies = at_once(server, [answer_of(editor, created, number, f"k{number}") for number in range(20)])
        winner = next(reply for reply in replies if reply.status == 200)
        losers = [reply for reply in replies if reply.status != 200]
        assert {reply.outcome for reply in losers} == {(409, "TOKEN_ALREADY_USED")}
        assert {reply.json["recorded"]["version"] for reply in losers} == {2}
        events = editor.get(path_of(created, "/events")).json["events"]
        assert [event["type"] for event in events] == ["continuation.created", "continuation.resumed"]
        assert events[1]["data"]["payload"] == winner.json["continuation"]["resumePayload"]

    def test_of_many_copies_at_once_all_get_the_same_bytes(self, server: RunningServer, editor: Client) -> None:
        created = editor.ask()
        replies = at_once(server, [answer_of(editor, created, {"b": 1, "a": 2}, "k") for _ in range(20)])
        assert len({kept(reply) for reply in replies}) == 1
        assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * 19
        assert len(editor.get(path_of(created, "/events")).json["events"]) == 2

    def test_a_repeat_gets_the_same_bytes_after_the_expiry_a_restart_and_elsewhere(
        self, parser: Parser, tmp_path: Path
    ) -> None:
        database, answer = tmp_path / "q.db", {"z": [1.0, "\N{GRINNING FACE}"], "a": 1e-7}
        with RunningServer(parser=parser, database=database) as first, first.client("editor") as editor:
            key, clock = str(editor.key), first.clock
            created = editor.ask({"message": "Which flight?"}, expiresAt=NEXT_WEEK)
            outcomes = [kept(editor.resume(created, answer)), kept(editor.resume(created, answer))]
            with RunningServer(database=database, clock=clock) as second, Client(second.port, key) as other:
                outcomes.append(kept(other.resume(created, dict(reversed(answer.items())))))
            clock.advance(timedelta(days=8))
            outcomes.append(kept(editor.resume(created, answer)))
        with RunningServer(parser=parser, database=database, clock=clock) as third, Client(third.port, key) as later:
            outcomes.append(kept(later.resume(created, answer)))
            refusal = later.resume(created, "other", key="other")
            assert refusal.outcome == (409, "TOKEN_ALREADY_USED")
        assert len(set(outcomes)) == 1

    @pytest.mark.parametrize("other", [1, "1.5", True, None, [1.5], {"a": 1.5}])
    def test_another_answer_under_the_same_key_is_422(self, editor: Client, other: Any) -> None:
        created = editor.ask()
        editor.resume(created, 1.5)
        assert editor.resume(created, other).outcome == (422, "IDEMPOTENCY_CONFLICT")

    def test_an_answer_that_does_not_fit_is_422_with_its_places_and_consumes_nothing(self, editor: Client) -> None:
        created = editor.ask({"responseSchema": SCHEMA})
        for wrong, path in (({"flight": 1}, "/flight"), ({}, "/flight"), ("canary-answer", ""), (None, "")):
            refusal = editor.resume(created, wrong)
            assert refusal.outcome == (422, "ANSWER_INVALID")
            assert [issue["path"] for issue in refusal.json["issues"]] == [path]
        assert editor.get(path_of(created)).json["continuation"]["version"] == 1
        assert editor.resume(created, {"flight": "AZ1"}).json["replayed"] is False

    def test_what_was_shown_is_what_is_decided(self, editor: Client) -> None:
        created = editor.ask()
        assert editor.resume(created, 1, shownDigest="0" * 64).outcome == (409, "DIGEST_MISMATCH")
        assert editor.resume(created, 1, shownDigest=created["continuation"]["shownDigest"]).status == 200

    @pytest.mark.parametrize("at", [timedelta(seconds=60), timedelta(days=1)])
    def test_from_the_deadline_on_it_is_410_and_names_the_time(self, parser: Parser, at: timedelta) -> None:
        with RunningServer(parser=parser) as server, server.client("editor") as editor:
            created = editor.ask(expiresAt="2026-01-01T00:01:00Z")
            server.clock.advance(at)
            refusal = editor.resume(created, "yes")
            assert refusal.outcome == (410, "CONTINUATION_EXPIRED")
            assert refusal.json["expiresAt"] == "2026-01-01T00:01:00.000Z"
            assert refusal.json["recorded"]["status"] == "expired"
            claim = editor.post(path_of(created, "/claim"), {"worker": "w", "leaseSeconds": 60})
            assert claim.outcome == (409, "INVALID_TRANSITION")
            types = [event["type"] for event in editor.get(path_of(created, "/events")).json["events"]]
            assert types == ["continuation.created", "continuation.expired"]


class TestAnswer:
    """The operator's way in."""

    def test_an_operator_answers_what_was_shown_without_a_token(self, editor: Client, admin: Client) -> None:
        question = editor.ask({"kind": "approval"})["continuation"]
        path = f"{CONTINUATIONS}/{question['continuationId']}/answer"
        body = {"payload": {"approved": True}, "shownDigest": question["shownDigest"]}
        first = editor.post(path, body, key="k")
        assert first.json["replayed"] is False
        assert first.json["continuation"]["by"]["kind"] == "operator"
        assert kept(editor.post(path, body, key="k")) == kept(first)
        assert admin.post(path, body, key="k").outcome == (409, "TOKEN_ALREADY_USED")
        other = {**body, "payload": {"approved": False}}
        assert editor.post(path, other, key="k").outcome == (422, "IDEMPOTENCY_CONFLICT")

    def test_the_answer_of_another_kind_of_question_is_422_and_it_stays_open(self, editor: Client) -> None:
        question = editor.ask({"kind": "approval"})["continuation"]
        path = f"{CONTINUATIONS}/{question['continuationId']}"
        for wrong in ("yes", {"flight": "AZ1"}, {"approved": "true"}, {"approved": True, "canary-unknown": 1}, None):
            body = {"payload": wrong, "shownDigest": question["shownDigest"]}
            assert editor.post(f"{path}/answer", body, key="k").outcome == (422, "ANSWER_INVALID")
        assert editor.get(path).json["continuation"]["status"] == "pending"

    def test_who_answers_too_often_is_told_when_to_come_again(self, parser: Parser) -> None:
        with RunningServer(parser=parser, mutations_per_minute=2) as server, server.client("editor") as editor:
            path = f"{CONTINUATIONS}/unknown/answer"
            body = {"payload": 1, "shownDigest": ""}
            assert [editor.post(path, body, key="k").status for _ in range(3)] == [404, 404, 429]
            assert 1 <= int(editor.post(path, body, key="k").headers["retry-after"]) <= 60
            with server.client("admin") as admin:
                assert admin.post(path, body, key="k").status == 404
            assert editor.get("/healthz").status == 200


class TestCancel:
    """Taken back."""

    def test_an_exact_repeat_gets_the_recorded_outcome_and_another_reason_is_409(self, editor: Client) -> None:
        created = editor.ask()
        first = editor.post(path_of(created, "/cancel"), {"reason": "no longer needed", "expectedVersion": 1})
        question = first.json["continuation"]
        assert (question["status"], question["version"], question["reason"]) == ("cancelled", 2, "no longer needed")
        assert editor.post(path_of(created, "/cancel"), {"reason": "no longer needed"}).body == first.body
        fenced = {"reason": "no longer needed", "expectedVersion": 1}
        assert editor.post(path_of(created, "/cancel"), fenced).body == first.body
        for other in ({"reason": "canary-reason"}, {}, {"reason": ""}):
            refusal = editor.post(path_of(created, "/cancel"), other)
            assert refusal.outcome == (409, "INVALID_TRANSITION")
            assert refusal.json["recorded"]["status"] == "cancelled"
        assert editor.resume(created, 1).outcome == (409, "CONTINUATION_CANCELLED")

    def test_a_stale_version_is_409_and_names_both(self, editor: Client) -> None:
        created = editor.ask()
        refusal = editor.post(path_of(created, "/cancel"), {"expectedVersion": 2})
        assert refusal.outcome == (409, "VERSION_CONFLICT")
        assert (refusal.json["expected"], refusal.json["actual"]) == (2, 1)

    def test_what_is_decided_cannot_be_taken_back(self, parser: Parser) -> None:
        with RunningServer(parser=parser) as server, server.client("editor") as editor:
            answered, late = editor.ask(), editor.ask(expiresAt="2026-01-01T00:01:00Z")
            editor.resume(answered, 1)
            server.clock.advance(timedelta(minutes=1))
            assert editor.post(path_of(answered, "/cancel"), {}).outcome == (409, "INVALID_TRANSITION")
            assert editor.post(path_of(late, "/cancel"), {}).outcome == (410, "CONTINUATION_EXPIRED")

    def test_of_two_reasons_at_once_one_counts(self, server: RunningServer, editor: Client) -> None:
        created = editor.ask()
        wishes = [Wish("POST", path_of(created, "/cancel"), {"reason": f"r{n}"}, key=editor.key) for n in range(8)]
        assert sorted(reply.status for reply in at_once(server, wishes)) == [200] + [409] * 7
        assert len(editor.get(path_of(created, "/events")).json["events"]) == 2


class TestToken:
    """Another token where the first was lost."""

    def test_the_old_one_dies_and_the_ninth_is_refused(self, editor: Client) -> None:
        created = editor.ask()
        again = [editor.post(path_of(created, "/token"), {"expectedVersion": n}).json for n in range(1, REISSUES + 1)]
        tokens = [created, *again]
        refusal = editor.post(path_of(created, "/token"), {})
        assert refusal.outcome == (409, "INVALID_TRANSITION")
        for old in tokens[:-1]:
            assert editor.resume(old, 1).outcome == (401, "TOKEN_MISMATCH")
        answered = editor.resume(tokens[-1], 1).json["continuation"]
        assert answered["version"] == REISSUES + 2
        events = editor.get(path_of(created, "/events")).body.decode()
        assert "tokenHash" not in events
        assert not any(one["resumeToken"] in events for one in tokens)

    @pytest.mark.parametrize(
        ("verb", "outcome"),
        [("/resume", (409, "TOKEN_ALREADY_USED")), ("/cancel", (409, "CONTINUATION_CANCELLED"))],
    )
    def test_what_is_decided_gets_none(self, editor: Client, verb: str, outcome: tuple[int, str]) -> None:
        created = editor.ask()
        body = {"payload": 1} if verb == "/resume" else {}
        editor.post(path_of(created, verb), body, key="k", token=created["resumeToken"])
        assert editor.post(path_of(created, "/token"), {}).outcome == outcome


def test_at_the_deadline_every_read_shows_it_expired_once(parser: Parser) -> None:
    with RunningServer(parser=parser) as server, server.client("editor") as editor:
        created = editor.ask(expiresAt="2026-01-01T00:01:00Z")
        server.clock.advance(timedelta(minutes=1))
        wishes = [Wish("GET", path_of(created), key=editor.key) for _ in range(10)]
        wishes += [Wish("POST", path_of(created, "/cancel"), {}, key=editor.key) for _ in range(10)]
        replies = at_once(server, wishes)
        assert {reply.json["continuation"]["status"] for reply in replies[:10]} == {"expired"}
        assert {reply.outcome for reply in replies[10:]} == {(410, "CONTINUATION_EXPIRED")}
        assert len(editor.get(path_of(created, "/events")).json["events"]) == 2
        listed = editor.get(f"{CONTINUATIONS}?status=expired").json["continuations"]
        assert [one["continuationId"] for one in listed] == [created["continuation"]["continuationId"]]


@pytest.mark.parametrize("path", [CONTINUATIONS + "/unknown", CONTINUATIONS + "/unknown/events"])
def test_an_id_that_there_is_not_is_404(editor: Client, path: str) -> None:
    assert editor.get(path).outcome == (404, "CONTINUATION_NOT_FOUND")


@pytest.mark.parametrize("verb", ["/resume", "/answer", "/cancel", "/token", "/claim", "/events", "/effects"])
def test_reading_every_address_decides_nothing(server: RunningServer, editor: Client, verb: str) -> None:
    created = editor.ask()
    before = server.last_seq
    for path in (path_of(created, verb), path_of(created), CONTINUATIONS, f"/v1/claims/{path_of(created)}/done"):
        for method in ("GET", "HEAD"):
            with server.wire() as wire:
                wire.send(Wish(method, path, key=editor.key).wire())
                assert wire.reply(method).status in {200, 404, 405}
    assert server.last_seq == before
    assert editor.get(path_of(created)).json["continuation"]["status"] == "pending"


def answer_of(client: Client, created: Any, payload: Any, key: str) -> Wish:
    headers = {"Authorization": f"PauseMesh {created['resumeToken']}", "Idempotency-Key": key}
    return Wish("POST", path_of(created, "/resume"), {"payload": payload}, key=client.key, headers=headers)


def json_of(reply: Reply) -> bytes:
    return reply.body.rpartition(b',"resumeToken":')[0]
