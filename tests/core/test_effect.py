"""What the ledger does with each command in each state of an effect."""

import dataclasses
from datetime import timedelta

import pytest

from pausemesh.core.document import Document
from pausemesh.core.effect import (
    Command,
    Complete,
    Doubt,
    Effect,
    EffectStatus,
    Fail,
    Resolve,
    Start,
    decide,
    effect_members,
    evolve,
    replay,
)
from pausemesh.core.effect_events import (
    Completed,
    Doubted,
    Event,
    Failed,
    Resolution,
    Resolved,
    Started,
    event_members,
    event_type,
    read_event,
)
from pausemesh.core.errors import (
    ActionMismatch,
    ClaimNotFound,
    EffectConflict,
    EffectUnknown,
    InvalidTransition,
    LeaseLost,
    StoreCorrupt,
    StreamTooLong,
    UnknownSchemaVersion,
)
from pausemesh.core.limits import EVENTS_PER_STREAM
from pausemesh.core.principal import BY_SYSTEM, Actor, ActorKind
from pausemesh.core.stored_event import Stamped, read_stored_event, write_stored_event
from pausemesh.testing.given import START, Scenario, stamp

ARGUMENTS = Document.of({"flight": "AZ1"})
TICKET = Document.of({"ticket": 7})
STARTED = Started(key="book", kind="book", arguments=ARGUMENTS, fence=1, worker="w1")
LATER = dataclasses.replace(STARTED, fence=2, worker="w2")
COMPLETED, FAILED, DOUBTED = Completed(fence=1, result=TICKET), Failed(fence=1), Doubted(fence=1)
ADMIN = Actor(kind=ActorKind.OPERATOR, id="root")
FOUND = Resolve(
    resolution=Resolution.DONE, evidence="the airline has it", by=ADMIN, result=TICKET, seen_fence=1, is_running=False
)
NOT_FOUND = Resolve(
    resolution=Resolution.NOT_DONE, evidence="the airline has nothing", by=ADMIN, seen_fence=1, is_running=False
)
RESOLVED_DONE = Resolved(resolution=Resolution.DONE, evidence="the airline has it", by=ADMIN, result=TICKET)
RESOLVED_NOT_DONE = Resolved(resolution=Resolution.NOT_DONE, evidence="the airline has nothing", by=ADMIN)


def given(*events: Event) -> Scenario[Effect, Command, Event]:
    return Scenario(lambda state, command, _now: decide(state, command), evolve, *events)


def test_a_start_is_recorded_before_anything_happens() -> None:
    assert given().when(Start(started=STARTED)) == (STARTED,)
    state = replay(stamp([STARTED]))
    assert (state.status, state.fence, state.worker, state.attempts) == (EffectStatus.STARTED, 1, "w1", 1)
    assert (state.key, state.kind, state.arguments_digest) == ("book", "book", ARGUMENTS.digest)
    assert (state.started_at, state.decided_at, state.result, state.version) == (START, None, None, 1)


@pytest.mark.parametrize("command", [Complete(fence=1, result=TICKET), Fail(fence=1), Doubt(fence=1), FOUND])
def test_what_never_started_has_no_outcome(command: Command) -> None:
    given().refused(command, ClaimNotFound)


def test_a_completed_effect_answers_with_its_result_whoever_asks() -> None:
    for started in (STARTED, LATER):
        assert given(STARTED, COMPLETED).when(Start(started=started)) == ()
    state = replay(stamp([STARTED, COMPLETED]))
    assert (state.status, state.result) == (EffectStatus.COMPLETED, {"ticket": 7})
    assert state.decided_at == START + timedelta(seconds=1)


def test_one_that_runs_under_this_very_fence_is_waited_for() -> None:
    assert given(STARTED).when(Start(started=STARTED)) == ()


def test_one_whose_claim_passed_on_without_an_outcome_is_in_doubt() -> None:
    given(STARTED).refused(Start(started=LATER), EffectUnknown)


@pytest.mark.parametrize("fence", [1, 2])
def test_one_that_was_interrupted_is_in_doubt_for_everybody(fence: int) -> None:
    given(STARTED, DOUBTED).refused(Start(started=dataclasses.replace(STARTED, fence=fence)), EffectUnknown)
    assert replay(stamp([STARTED, DOUBTED])).status is EffectStatus.UNKNOWN


def test_one_that_surely_did_not_happen_may_be_tried_again() -> None:
    for did_not in (FAILED, RESOLVED_NOT_DONE):
        scenario = given(STARTED, did_not)
        assert scenario.when(Start(started=LATER)) == (LATER,)
        assert scenario.state is not None
        assert scenario.state.status is EffectStatus.FAILED
    state = replay(stamp([STARTED, FAILED, LATER]))
    assert (state.status, state.fence, state.attempts, state.decided_at) == (EffectStatus.STARTED, 2, 2, None)


@pytest.mark.parametrize("outcome", [None, COMPLETED, FAILED, DOUBTED])
def test_another_kind_or_other_arguments_conflict_in_every_state(outcome: Event | None) -> None:
    scenario = given(STARTED, *([outcome] if outcome else []))
    scenario.refused(Start(started=dataclasses.replace(STARTED, kind="cancel")), EffectConflict)
    other = dataclasses.replace(STARTED, arguments=Document.of({"flight": "AZ2"}))
    scenario.refused(Start(started=other), EffectConflict)


def test_a_start_leaves_room_for_its_outcome() -> None:
    tries: list[Event] = [STARTED, FAILED] * (EVENTS_PER_STREAM // 2)
    assert given(*tries[: EVENTS_PER_STREAM - 4]).when(Start(started=LATER)) == (LATER,)
    odd: list[Event] = [STARTED, DOUBTED, RESOLVED_NOT_DONE, *tries]
    assert given(*odd[: EVENTS_PER_STREAM - 3]).when(Start(started=LATER)) == (LATER,)
    refusal = given(*tries[: EVENTS_PER_STREAM - 2]).refused(Start(started=LATER), StreamTooLong)
    assert refusal.limit == EVENTS_PER_STREAM


@pytest.mark.parametrize(
    ("command", "event"),
    [(Complete(fence=1, result=TICKET), COMPLETED), (Fail(fence=1), FAILED), (Doubt(fence=1), DOUBTED)],
)
def test_an_outcome_is_recorded_once_and_its_exact_repeat_changes_nothing(command: Command, event: Event) -> None:
    assert given(STARTED).when(command) == (event,)
    assert given(STARTED, event).when(command) == ()
    for other in (COMPLETED, FAILED, DOUBTED):
        if other != event:
            given(STARTED, other).refused(command, InvalidTransition)


@pytest.mark.parametrize("command", [Complete(fence=1, result=TICKET), Fail(fence=1), Doubt(fence=1)])
def test_a_stale_fence_records_no_outcome(command: Command) -> None:
    given(STARTED, FAILED, LATER).refused(command, LeaseLost)
    given(STARTED, FAILED, LATER, Completed(fence=2, result=TICKET)).refused(command, LeaseLost)


def test_another_result_is_no_repeat() -> None:
    other = Complete(fence=1, result=Document.of({"ticket": 8}))
    given(STARTED, COMPLETED).refused(other, InvalidTransition)


def test_what_evidence_settled_is_not_settled_again_by_its_holder() -> None:
    given(STARTED, DOUBTED, RESOLVED_DONE).refused(Complete(fence=1, result=TICKET), InvalidTransition)
    given(STARTED, DOUBTED, RESOLVED_NOT_DONE).refused(Fail(fence=1), InvalidTransition)


@pytest.mark.parametrize(
    ("command", "event", "status"),
    [
        (FOUND, RESOLVED_DONE, EffectStatus.COMPLETED),
        (NOT_FOUND, RESOLVED_NOT_DONE, EffectStatus.FAILED),
    ],
)
def test_evidence_settles_what_is_in_doubt(command: Resolve, event: Event, status: EffectStatus) -> None:
    assert given(STARTED, DOUBTED).when(command) == (event,)
    assert given(STARTED).when(dataclasses.replace(command, seen_fence=2, is_running=True)) == (event,)
    assert given(STARTED).when(command) == (event,)
    state = replay(stamp([STARTED, DOUBTED, event]))
    assert (state.status, state.evidence, state.resolved_by) == (status, command.evidence, ADMIN)
    assert state.result == ({"ticket": 7} if status is EffectStatus.COMPLETED else None)


def test_evidence_does_not_settle_what_is_running() -> None:
    given(STARTED).refused(dataclasses.replace(FOUND, is_running=True), InvalidTransition)


def test_evidence_does_not_settle_what_a_later_claim_started_meanwhile() -> None:
    given(STARTED, FAILED, LATER).refused(FOUND, InvalidTransition)
    later_look = dataclasses.replace(FOUND, seen_fence=2)
    assert given(STARTED, FAILED, LATER).when(later_look) == (RESOLVED_DONE,)


def test_an_approved_action_is_not_started_under_a_second_key() -> None:
    for history in ([STARTED], [STARTED, COMPLETED], [STARTED, FAILED]):
        given(*history).refused(Start(started=dataclasses.replace(STARTED, key="again")), ActionMismatch)


def test_evidence_given_twice_changes_nothing_and_other_evidence_is_refused() -> None:
    assert given(STARTED, DOUBTED, RESOLVED_DONE).when(FOUND) == ()
    assert given(STARTED, DOUBTED, RESOLVED_NOT_DONE).when(NOT_FOUND) == ()
    for other in (
        NOT_FOUND,
        dataclasses.replace(FOUND, evidence="another look"),
        dataclasses.replace(FOUND, by=BY_SYSTEM),
        dataclasses.replace(FOUND, result=None),
    ):
        given(STARTED, DOUBTED, RESOLVED_DONE).refused(other, InvalidTransition)
    given(STARTED, COMPLETED).refused(FOUND, InvalidTransition)
    given(STARTED, FAILED).refused(NOT_FOUND, InvalidTransition)


@pytest.mark.parametrize("events", [[], [COMPLETED]])
def test_an_impossible_stream_is_refused(events: list[Event]) -> None:
    with pytest.raises(StoreCorrupt):
        replay(stamp(events))


def test_a_gap_in_a_stream_is_refused() -> None:
    history: list[Event] = [STARTED, COMPLETED]
    first, second = stamp(history)
    with pytest.raises(StoreCorrupt, match="Version 2"):
        replay([first, dataclasses.replace(second, version=3)])


@pytest.mark.parametrize("event", [STARTED, COMPLETED, FAILED, DOUBTED, RESOLVED_DONE, RESOLVED_NOT_DONE])
def test_events_read_back_as_they_were_stored(event: Event) -> None:
    data = write_stored_event("q_1/book", 1, event_members(event))
    members = read_stored_event(data, "q_1/book", 1)
    assert read_event(event_type(event), "q_1/book", members) == event
    assert event_type(event).startswith("effect.")


def test_a_null_result_is_a_result() -> None:
    event = Completed(fence=1, result=Document.of(None))
    data = write_stored_event("e", 2, event_members(event))
    assert read_event("effect.completed", "e", read_stored_event(data, "e", 2)) == event


def test_an_unknown_type_of_event_is_refused() -> None:
    with pytest.raises(UnknownSchemaVersion):
        read_event("effect.dreamt", "q_1/book", {})


@pytest.mark.parametrize("type_name", ["started", "completed", "failed", "doubted", "resolved"])
@pytest.mark.parametrize("members", [{}, {"fence": True, "key": "k"}, {"resolution": "maybe"}])
def test_an_event_that_misses_members_is_refused(type_name: str, members: dict[str, object]) -> None:
    with pytest.raises(StoreCorrupt, match=f"effect.{type_name}"):
        read_event(f"effect.{type_name}", "q_1/book", members)  # type: ignore[arg-type]


def test_no_representation_shows_arguments_results_or_evidence() -> None:
    state = replay(stamp([STARTED, DOUBTED, RESOLVED_DONE]))
    assert "the airline has it" not in repr(state) + repr(FOUND) + repr(RESOLVED_DONE)
    stamped = Stamped(event=STARTED, version=1, at=START, id=stamp([STARTED])[0].id)
    assert "AZ1" not in repr(stamped)


def test_the_caller_of_a_start_is_known_by_the_name_that_it_gave_it() -> None:
    named = dataclasses.replace(STARTED, attempt="call-1")
    assert replay(stamp([named])).attempt == "call-1"
    data = write_stored_event("e", 1, event_members(named))
    assert read_event("effect.started", "e", read_stored_event(data, "e", 1)) == named
    assert "attempt" not in event_members(STARTED)


def test_an_effect_is_shown_with_all_that_the_ledger_knows_of_it() -> None:
    started = {
        "key": "book",
        "kind": "book",
        "fence": 1,
        "worker": "w1",
        "attempts": 1,
        "startedAt": "2030-01-01T00:00:00.000Z",
    }
    assert effect_members(replay(stamp([STARTED])), lambda result: result.value) == {**started, "status": "started"}
    settled = replay(stamp([STARTED, DOUBTED, RESOLVED_DONE]))
    assert effect_members(settled, lambda result: result.value) == {
        **started,
        "status": "completed",
        "decidedAt": "2030-01-01T00:00:02.000Z",
        "evidence": "the airline has it",
        "resolvedBy": {"kind": "operator", "id": "root"},
        "result": {"ticket": 7},
    }
