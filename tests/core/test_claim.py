"""The claim as others see it, its events, and what an approval admits."""

import dataclasses
from datetime import datetime, timedelta

import pytest

from pausemesh.core import limits
from pausemesh.core.claim import (
    Claim,
    Failed,
    Finished,
    claim_view,
    decide_fail,
    decide_finish,
    event_members,
    event_type,
    evolve,
    read_event,
    replay,
    require_action,
    require_claimable,
)
from pausemesh.core.claim import Event as ClaimEvent
from pausemesh.core.continuation import replay as replay_continuation
from pausemesh.core.continuation_events import Cancelled, Created, Event, Expired, Resumed
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy, ClaimStatus, Continuation, claim_to_json, continuation_to_json
from pausemesh.core.errors import (
    ActionMismatch,
    ClaimDone,
    InvalidTransition,
    LeaseLost,
    StoreCorrupt,
    StreamTooLong,
    UnknownSchemaVersion,
)
from pausemesh.core.principal import BY_SYSTEM, BY_TOKEN
from pausemesh.core.values import JsonValue
from pausemesh.testing.given import START, Scenario, stamp

FINISHED = Finished(worker="w1", fence=1, result=Document.of({"ticket": 7}))
LEASE_UNTIL = START + timedelta(seconds=60)


FAILED = Failed(worker="w1", fence=1, reason="the airline is down")


def given(*events: ClaimEvent) -> Scenario[Claim, ClaimEvent, ClaimEvent]:
    def decide(state: Claim | None, command: ClaimEvent, _now: datetime) -> tuple[ClaimEvent, ...]:
        return decide_fail(state, command) if isinstance(command, Failed) else decide_finish(state, command)

    return Scenario(decide, evolve, *events)


def later(event: Failed, fence: int) -> Failed:
    return dataclasses.replace(event, fence=fence)


def test_a_claim_is_finished_once_and_the_exact_repeat_changes_nothing() -> None:
    assert given().when(FINISHED) == (FINISHED,)
    assert given(FINISHED).when(FINISHED) == ()


def test_a_claim_finished_under_another_fence_is_lost() -> None:
    given(FINISHED).refused(dataclasses.replace(FINISHED, fence=2), LeaseLost)


def test_a_claim_finished_with_another_result_tells_the_recorded_one() -> None:
    other = dataclasses.replace(FINISHED, result=Document.of(None))
    refusal = given(FINISHED).refused(other, ClaimDone)
    assert refusal.result == {"ticket": 7}
    assert "7" not in str(refusal) + repr(refusal)


def test_a_claim_fails_any_number_of_times_before_it_is_finished() -> None:
    assert given().when(FAILED) == (FAILED,)
    assert given(FAILED).when(FAILED) == ()
    assert given(FAILED).when(later(FAILED, 2)) == (later(FAILED, 2),)
    assert given(FAILED, later(FAILED, 2)).when(dataclasses.replace(FINISHED, fence=3))


def test_one_holder_fails_once_and_nobody_fails_what_is_done() -> None:
    given(FAILED).refused(dataclasses.replace(FAILED, reason=None), LeaseLost)
    given(FINISHED).refused(later(FAILED, 2), LeaseLost)


def test_the_end_always_has_room_in_the_stream() -> None:
    failures = [later(FAILED, fence) for fence in range(1, limits.EVENTS_PER_STREAM)]
    given(*failures).refused(later(FAILED, 99), StreamTooLong)
    assert given(*failures[:-1]).when(later(FAILED, 99))
    assert given(*failures).when(dataclasses.replace(FINISHED, fence=99))


def test_a_claims_stream_ends_with_its_end() -> None:
    assert replay(stamp([FINISHED])) == Claim(version=1, at=START, finished=FINISHED)
    failed = replay(stamp([FAILED, later(FAILED, 2), dataclasses.replace(FINISHED, fence=3)]))
    assert (failed.version, failed.failed, failed.end.fence) == (3, later(FAILED, 2), 3)
    broken: tuple[list[ClaimEvent], ...] = ([], [FINISHED, FINISHED], [FINISHED, later(FAILED, 2)])
    for events in broken:
        with pytest.raises(StoreCorrupt):
            replay(stamp(events))
    with pytest.raises(StoreCorrupt):
        replay(stamp([*broken[2]])[1:])


def test_its_events_read_back_as_they_were_stored() -> None:
    members: dict[str, JsonValue] = {"worker": "w1", "fence": 1, "result": {"ticket": 7}}
    assert read_event(event_type(FINISHED), "q", members) == FINISHED
    assert event_members(FINISHED) == {"worker": "w1", "fence": 1, "result": FINISHED.result}
    assert "ticket" not in repr(FINISHED)
    for failed in (FAILED, dataclasses.replace(FAILED, reason=None)):
        kept = {name: value for name, value in vars_of(failed).items() if value is not None}
        assert event_members(failed) == kept
        assert read_event(event_type(failed), "q", kept) == failed
    assert "airline" not in repr(FAILED)


def vars_of(failed: Failed) -> dict[str, JsonValue]:
    return {"worker": failed.worker, "fence": failed.fence, "reason": failed.reason}


def test_an_unknown_event_of_a_claim_is_refused() -> None:
    with pytest.raises(UnknownSchemaVersion):
        read_event("claim.lost", "q", {})
    broken: tuple[dict[str, JsonValue], ...] = (
        {},
        {"worker": 1, "fence": 1, "result": None},
        {"worker": "w", "fence": "1", "result": None},
    )
    for members in broken:
        with pytest.raises(StoreCorrupt):
            read_event("claim.finished", "q", members)
    with pytest.raises(StoreCorrupt):
        read_event("claim.failed", "q", {"worker": "w", "fence": 1, "reason": 5})


def view(**columns: object) -> tuple[ClaimStatus, JsonValue]:
    whole = {"holder": None, "fence": 0, "lease_until": None, "done_at": None, "now": START, **columns}
    claim = claim_view(**whole)  # type: ignore[arg-type]
    return claim.status, claim_to_json(claim)


def test_an_unclaimed_or_released_claim_is_open() -> None:
    assert view() == (ClaimStatus.OPEN, {"status": "open", "fence": 0})
    assert view(fence=2, lease_until=LEASE_UNTIL) == (ClaimStatus.OPEN, {"status": "open", "fence": 2})
    assert view(fence=2, holder="w1") == (ClaimStatus.OPEN, {"status": "open", "fence": 2})
    assert view(fence=3) == (ClaimStatus.OPEN, {"status": "open", "fence": 3})


def test_a_claim_is_held_until_its_lease_ends_and_then_lapsed() -> None:
    held = {"holder": "w1", "fence": 1, "lease_until": LEASE_UNTIL}
    shown = {"fence": 1, "worker": "w1", "leaseUntil": "2030-01-01T00:01:00.000Z"}
    assert view(**held) == (ClaimStatus.HELD, {"status": "held", **shown})
    assert view(**held, now=LEASE_UNTIL) == (ClaimStatus.LAPSED, {"status": "lapsed", **shown})


def test_a_done_claim_shows_who_and_when() -> None:
    done = view(holder="w1", fence=2, lease_until=LEASE_UNTIL, done_at=START)
    expected = {"status": "done", "fence": 2, "worker": "w1", "doneAt": "2030-01-01T00:00:00.000Z"}
    assert done == (ClaimStatus.DONE, expected)


def continuation(payload: JsonValue, *events: Event) -> Continuation:
    created = Created(
        id="q_1",
        correlation_id="c",
        payload=Document.of(payload),
        metadata=Document.of({}),
        shown_digest="d",
        expires_at=None,
        answerable_by=(AnswerableBy.TOKEN,),
        by=BY_SYSTEM,
    )
    return replay_continuation(stamp([created, *events])).continuation


def resumed(answer: JsonValue) -> Resumed:
    return Resumed(by=BY_TOKEN, idempotency_key="k", payload=Document.of(answer))


def test_only_an_answered_question_can_be_claimed() -> None:
    require_claimable(continuation({}, resumed(None)))
    for events in ((), (Cancelled(by=BY_SYSTEM),), (Expired(),)):
        with pytest.raises(InvalidTransition):
            require_claimable(continuation({}, *events))


def test_the_claim_is_in_the_envelope_where_a_read_filled_it() -> None:
    decided = continuation({}, resumed(None))
    claim = claim_view(holder="w", fence=1, lease_until=LEASE_UNTIL, done_at=None, now=START)
    assert "claim" not in continuation_to_json(decided)
    assert continuation_to_json(dataclasses.replace(decided, claim=claim))["claim"] == claim_to_json(claim)


APPROVAL: JsonValue = {
    "kind": "approval",
    "action": {"name": "book", "arguments": {"flight": "AZ1", "seats": 2}},
}


def admits(payload: JsonValue, answer: JsonValue, name: str, arguments: JsonValue) -> bool:
    try:
        require_action(continuation(payload, resumed(answer)), name, Document.of(arguments))
    except ActionMismatch:
        return False
    return True


def test_an_approval_admits_its_action_with_exactly_its_arguments_key_order_aside() -> None:
    yes: JsonValue = {"approved": True}
    assert admits(APPROVAL, yes, "book", {"seats": 2, "flight": "AZ1"})
    assert admits(APPROVAL, yes, "book", {"seats": 2.0, "flight": "AZ1"})
    others: tuple[tuple[str, JsonValue], ...] = (
        ("cancel", {"flight": "AZ1", "seats": 2}),
        ("book", {"flight": "AZ1", "seats": 3}),
        ("book", {"flight": "AZ1"}),
        ("book", {"flight": "AZ1", "seats": 2, "class": "first"}),
        ("book", {}),
    )
    for name, arguments in others:
        assert not admits(APPROVAL, yes, name, arguments)


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": False},
        {"approved": None},
        {"approved": 1},
        {"approved": "yes"},
        {"decision": "yes"},
        {},
        [True],
        False,
        None,
        1,
        "yes",
    ],
)
def test_whatever_does_not_say_approved_admits_nothing(answer: JsonValue) -> None:
    assert not admits(APPROVAL, answer, "book", {"flight": "AZ1", "seats": 2})


@pytest.mark.parametrize("answer", [True, {"approved": True}, {"approved": True, "level": 3}])
def test_an_answer_of_any_shape_approves_where_it_says_so(answer: JsonValue) -> None:
    assert admits(APPROVAL, answer, "book", {"flight": "AZ1", "seats": 2})


def test_a_question_without_an_action_admits_any() -> None:
    assert admits({"message": "Which?"}, "AZ1", "book", {"flight": "AZ1"})
    assert admits({"kind": "approval"}, {"approved": False}, "send_regrets", {})
