"""Going on with a decision over HTTP: one worker at a time, each effect once, and what late ones are told."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from pausemesh.core.limits import EVENTS_PER_STREAM
from pausemesh.server.settings import Parser
from tests.server.answers import Reply
from tests.server.calls import ACTION, Givens, Wish
from tests.server.harness import Client, RunningServer

WORKER = {"worker": "w1", "leaseSeconds": 60}


@pytest.fixture(scope="module")
def given(server: RunningServer) -> Givens:
    return Givens(server)


def claim(client: Client, found: str, **members: Any) -> Reply:
    return client.post(f"/v1/continuations/{found}/claim", {**WORKER, **members})


def on(client: Client, found: str, verb: str, fence: int = 1, **members: Any) -> Reply:
    return client.post(f"/v1/claims/{found}/{verb}", {"fence": fence, **members})


class TestClaim:
    """The right to go on."""

    def test_one_worker_holds_it_and_the_others_are_told_until_when(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        taken = claim(agent, found).json
        assert taken["claim"]["claimId"] == taken["claim"]["continuationId"] == found
        assert (taken["claim"]["worker"], taken["claim"]["fence"], taken["claim"]["status"]) == ("w1", 1, "held")
        assert taken["continuation"]["resumePayload"] == {"flight": "AZ2"}
        refusal = claim(agent, found, worker="w2")
        assert refusal.outcome == (409, "CLAIM_HELD")
        assert refusal.json["leaseUntil"] == taken["claim"]["leaseUntil"]
        shown = agent.get(f"/v1/continuations/{found}").json["continuation"]["claim"]
        assert (shown["status"], shown["worker"], shown["fence"]) == ("held", "w1", 1)

    def test_of_many_workers_at_once_one_gets_it(self, server: RunningServer, given: Givens, agent: Client) -> None:
        found = given.resumed()
        with contextlib.ExitStack() as stack:
            wires = [stack.enter_context(server.wire()) for _ in range(20)]
            for number, wire in enumerate(wires):
                body = {**WORKER, "worker": f"w{number}"}
                wire.send(Wish("POST", f"/v1/continuations/{found}/claim", body, key=agent.key).wire())
            assert sorted(wire.reply().status for wire in wires) == [200] + [409] * 19

    @pytest.mark.parametrize("make", [Givens.question, Givens.cancelled, Givens.expired])
    def test_what_was_not_answered_cannot_be_claimed(self, given: Givens, agent: Client, make: Any) -> None:
        assert claim(agent, make(given)).outcome == (409, "INVALID_TRANSITION")

    def test_a_lapsed_lease_passes_on_and_the_late_one_records_nothing(self, parser: Parser) -> None:
        with RunningServer(parser=parser) as server, server.client("agent") as agent:
            found = Givens(server).resumed()
            claim(agent, found)
            server.clock.advance(timedelta(seconds=60))
            assert agent.get(f"/v1/continuations/{found}").json["continuation"]["claim"]["status"] == "lapsed"
            before = server.last_seq
            for verb, members in (
                ("renew", {"leaseSeconds": 60}),
                ("done", {"result": 1}),
                ("release", {}),
                ("fail", {}),
                ("effects", {"key": "a"}),
            ):
                assert on(agent, found, verb, **members).outcome == (409, "LEASE_LOST"), verb
            assert server.last_seq == before
            assert claim(agent, found, worker="w2").json["claim"]["fence"] == 2
            assert on(agent, found, "done", 1, result=1).outcome == (409, "LEASE_LOST")
            assert on(agent, found, "done", 2, result=1).json["claim"]["status"] == "done"

    def test_a_renewed_lease_goes_on_from_now(self, parser: Parser) -> None:
        with RunningServer(parser=parser) as server, server.client("agent") as agent:
            found = Givens(server).resumed()
            claim(agent, found)
            server.clock.advance(timedelta(seconds=59))
            renewed = on(agent, found, "renew", leaseSeconds=120).json["claim"]
            assert renewed["leaseUntil"] == "2026-01-01T00:02:59.000Z"
            server.clock.advance(timedelta(seconds=119))
            assert claim(agent, found, worker="w2").code == "CLAIM_HELD"

    def test_what_is_given_back_may_be_taken_at_once(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        claim(agent, found)
        released = on(agent, found, "release").json["claim"]
        assert (released["status"], released["fence"]) == ("open", 1)
        assert on(agent, found, "release").outcome == (409, "LEASE_LOST")
        assert claim(agent, found, worker="w2").json["claim"]["fence"] == 2

    def test_who_fails_may_say_so_again_and_the_next_takes_it(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        claim(agent, found)
        failed = on(agent, found, "fail", reason="no seats")
        assert failed.status == 200
        assert on(agent, found, "fail", reason="no seats").body == failed.body
        assert on(agent, found, "fail", reason="another").outcome == (409, "LEASE_LOST")
        assert claim(agent, found, worker="w2").json["claim"]["fence"] == 2

    def test_however_often_it_fails_it_can_be_finished(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        for fence in range(1, EVENTS_PER_STREAM + 5):
            assert claim(agent, found).json["claim"]["fence"] == fence
            assert on(agent, found, "fail", fence, reason="again").status == 200
        claim(agent, found)
        assert on(agent, found, "done", EVENTS_PER_STREAM + 5, result="at last").status == 200

    def test_done_ends_it_for_good_and_may_be_said_again(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        claim(agent, found)
        done = on(agent, found, "done", result={"ticket": 1})
        assert done.json["claim"]["status"] == "done"
        assert on(agent, found, "done", result={"ticket": 1.0}).body == done.body
        assert on(agent, found, "done", result={"ticket": 2}).outcome == (409, "INVALID_TRANSITION")
        assert claim(agent, found, worker="w2").outcome == (409, "INVALID_TRANSITION")
        assert on(agent, found, "renew", leaseSeconds=60).outcome == (409, "LEASE_LOST")

    def test_a_recorded_outcome_never_carries_the_claim(self, editor: Client) -> None:
        created = editor.ask()
        first = editor.resume(created, 1)
        claim(editor, created["continuation"]["continuationId"])
        again = editor.resume(created, 1)
        assert again.body == first.body.replace(b"false", b"true")

    def test_a_fence_that_was_never_given_names_no_claim(self, given: Givens, agent: Client) -> None:
        found = given.resumed()
        assert on(agent, found, "renew", 1, leaseSeconds=60).outcome == (404, "CLAIM_NOT_FOUND")
        claim(agent, found)
        for fence in (2, 2**53 - 1):
            assert on(agent, found, "renew", fence, leaseSeconds=60).outcome == (404, "CLAIM_NOT_FOUND")


class TestQueue:
    """The next decision of a queue."""

    def take(self, client: Client, queue: str, **members: Any) -> Reply:
        return client.post("/v1/claims", {"queue": queue, **WORKER, **members})

    def test_the_one_that_has_been_ready_longest_comes_first_and_each_once(
        self, server: RunningServer, given: Givens, agent: Client
    ) -> None:
        found = []
        for _ in range(3):
            found.append(given.resumed(queue="first come"))
            server.clock.advance(timedelta(milliseconds=1))
        taken = [self.take(agent, "first come") for _ in range(4)]
        assert [reply.json["continuation"]["continuationId"] for reply in taken[:3]] == found
        assert (taken[3].status, taken[3].body) == (204, b"")

    def test_a_wait_ends_with_the_decision(self, server: RunningServer, agent: Client, editor: Client) -> None:
        created = editor.ask(queue="awaited")
        body = {"queue": "awaited", **WORKER, "wait": 25}
        with server.wire() as wire:
            wire.send(Wish("POST", "/v1/claims", body, key=agent.key).wire())
            assert server.until_waiting(1)
            editor.resume(created, 1)
            assert wire.reply().json["continuation"]["resumePayload"] == 1
        assert server.until_waiting(0)

    def test_who_goes_while_it_waits_takes_nothing_away(
        self, server: RunningServer, agent: Client, editor: Client
    ) -> None:
        created = editor.ask(queue="left")
        body = {"queue": "left", **WORKER, "wait": 25}
        with server.wire() as wire:
            wire.send(Wish("POST", "/v1/claims", body, key=agent.key).wire())
            assert server.until_waiting(1)
        assert server.until_waiting(0)
        editor.resume(created, 1)
        assert self.take(agent, "left").json["claim"]["fence"] == 1


class TestEffects:
    """What is done to the world outside."""

    def test_it_runs_once_and_a_repeat_gets_the_recorded_result(self, given: Givens, agent: Client) -> None:
        found = given.claimed(times=1)
        started = on(agent, found, "effects", key="book", arguments={"a": 1})
        assert started.json == {"effect": {"key": "book", "kind": "book", "status": "started"}, "replayed": False}
        unknown = on(agent, found, "effects", key="book", arguments={"a": 1})
        assert unknown.outcome == (409, "EFFECT_UNKNOWN")
        recorded = on(agent, found, "effects/book/outcome", status="completed", result={"ticket": 42})
        assert recorded.json["effect"]["status"] == "completed"
        again = on(agent, found, "effects/book/outcome", status="completed", result={"ticket": 42.0})
        assert again.body == recorded.body
        repeat = on(agent, found, "effects", key="book", arguments={"a": 1.0}).json
        assert repeat["replayed"] is True
        assert repeat["effect"]["result"] == {"ticket": 42}
        other = on(agent, found, "effects", key="book", arguments={"a": 2})
        assert other.outcome == (409, "EFFECT_CONFLICT")
        changed = on(agent, found, "effects/book/outcome", status="completed", result="canary-result")
        assert changed.outcome == (409, "INVALID_TRANSITION")

    def test_a_start_whose_answer_was_lost_may_be_repeated_under_its_key(self, given: Givens, agent: Client) -> None:
        found = given.claimed(times=1)
        path, body = f"/v1/claims/{found}/effects", {"fence": 1, "key": "book"}
        assert agent.post(path, body, key="attempt-1").json["replayed"] is False
        assert agent.post(path, body, key="attempt-1").json["replayed"] is True
        assert agent.post(path, body, key="attempt-2").outcome == (409, "EFFECT_UNKNOWN")

    def test_what_surely_did_not_happen_may_be_tried_again(self, given: Givens, agent: Client) -> None:
        found = given.claimed(times=1)
        on(agent, found, "effects", key="book")
        failed = on(agent, found, "effects/book/outcome", status="failed")
        assert failed.json["effect"]["status"] == "failed"
        assert on(agent, found, "effects", key="book").json["effect"]["status"] == "started"

    def test_only_what_was_approved_runs_and_it_runs_once(self, given: Givens, agent: Client) -> None:
        found = given.claimed(
            {"action": {**ACTION, "arguments": {"a": 1, "b": [2]}}}, times=1, answer={"approved": True}
        )
        for members in (
            {"key": "book_flight", "arguments": {"a": 1, "b": [3]}},
            {"key": "book_flight", "arguments": {"a": 1}},
            {"key": "book_flight"},
            {"key": "other", "arguments": {"a": 1, "b": [2]}},
            {"key": "book_flight", "kind": "other", "arguments": {"a": 1, "b": [2]}},
        ):
            assert on(agent, found, "effects", **members).outcome == (409, "ACTION_MISMATCH"), members
        right: Any = {"kind": "book_flight", "arguments": {"b": [2.0], "a": 1}}
        assert on(agent, found, "effects", key="one", **right).json["replayed"] is False
        assert on(agent, found, "effects", key="two", **right).outcome[0] == 409

    def test_a_no_admits_nothing(self, given: Givens, agent: Client) -> None:
        found = given.claimed({"action": ACTION}, times=1, answer={"approved": False})
        refusal = on(agent, found, "effects", key="book_flight", arguments=ACTION["arguments"])
        assert refusal.outcome == (409, "ACTION_MISMATCH")

    def test_a_doubt_stays_until_an_admin_settles_it_with_evidence(
        self, given: Givens, agent: Client, admin: Client
    ) -> None:
        found = given.doubtful()
        fence = claim(agent, found).json["claim"]["fence"]
        assert on(agent, found, "effects", fence, key="book").outcome == (409, "EFFECT_UNKNOWN")
        body = {"outcome": "done", "evidence": "the ticket is in the airline's system", "result": {"ticket": 7}}
        path = f"/v1/continuations/{found}/effects/book/resolve"
        settled = admin.post(path, body)
        assert (settled.json["effect"]["status"], settled.json["effect"]["result"]) == ("completed", {"ticket": 7})
        assert on(agent, found, "effects", fence, key="book").json["effect"]["result"] == {"ticket": 7}
        ledger = agent.get(f"/v1/continuations/{found}/effects").json["effects"]
        assert [effect["evidence"] for effect in ledger] == [body["evidence"]]

    def test_an_effect_that_there_is_not_is_404(self, given: Givens, agent: Client, admin: Client) -> None:
        found = given.claimed(times=1)
        outcome = on(agent, found, "effects/unknown/outcome", status="completed")
        assert outcome.outcome == (404, "CLAIM_NOT_FOUND")
        body = {"outcome": "done", "evidence": "seen"}
        resolved = admin.post(f"/v1/continuations/{found}/effects/unknown/resolve", body)
        assert resolved.outcome == (404, "CLAIM_NOT_FOUND")
