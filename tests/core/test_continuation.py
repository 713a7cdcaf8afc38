"""What a continuation does with each command in each of its states."""

import dataclasses
import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from pausemesh.core.continuation import (
    TRANSITIONS,
    Cancel,
    Command,
    Create,
    Expire,
    Reissue,
    Resume,
    State,
    decide,
    evolve,
    is_overdue,
    replay,
)
from pausemesh.core.continuation_events import (
    Cancelled,
    Created,
    Event,
    Expired,
    Resumed,
    TokenReissued,
    event_members,
    event_type,
    read_event,
)
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy, Status, continuation_to_json
from pausemesh.core.errors import (
    ContinuationCancelled,
    ContinuationExists,
    ContinuationExpired,
    ContinuationNotFound,
    DigestMismatch,
    Forbidden,
    IdempotencyConflict,
    InvalidTransition,
    Owned,
    OwnedByTask,
    PauseMeshError,
    StoreCorrupt,
    TokenAlreadyUsed,
    TokenMismatch,
    UnknownSchemaVersion,
    VersionConflict,
)
from pausemesh.core.limits import REISSUES
from pausemesh.core.principal import BY_SYSTEM, BY_TOKEN, Actor, ActorKind
from pausemesh.core.question import shown_digest
from pausemesh.core.stored_event import Stamped, read_stored_event, write_stored_event
from pausemesh.core.values import JsonValue
from pausemesh.testing.given import START, Scenario, stamp

HASH, OTHER_HASH = b"h" * 32, b"o" * 32
DUE = START + timedelta(days=7)
PAYLOAD = Document.of({"message": "Which flight?"})
YES, NO = Document.of({"flight": "AZ1"}), Document.of({"flight": "AZ2"})
OPERATOR = Actor(kind=ActorKind.OPERATOR, id="ana")
OTHER_OPERATOR = Actor(kind=ActorKind.OPERATOR, id="ben")
BOTH = (AnswerableBy.TOKEN, AnswerableBy.OPERATOR)

CREATED = Created(
    id="q_1",
    correlation_id="trip-42",
    payload=PAYLOAD,
    metadata=Document.of({"team": "travel"}),
    shown_digest=shown_digest("q_1", PAYLOAD, DUE),
    expires_at=DUE,
    answerable_by=BOTH,
    by=BY_SYSTEM,
    token_hash=HASH,
    queue="bookings",
)
RESUMED = Resumed(by=BY_TOKEN, idempotency_key="k", payload=YES)
CANCELLED = Cancelled(by=OPERATOR, reason="too late")
REISSUED = TokenReissued(token_hash=OTHER_HASH, by=BY_SYSTEM)
RESUME = Resume(by=BY_TOKEN, idempotency_key="k", payload=YES, token_hash=HASH)
ANSWER = Resume(by=OPERATOR, idempotency_key="k", payload=YES)
CANCEL = Cancel(by=OPERATOR, reason="too late")
REISSUE = Reissue(by=BY_SYSTEM, token_hash=OTHER_HASH)


def given(*events: Event) -> Scenario[State, Command, Event]:
    return Scenario(decide, evolve, *events)


def but(event: Created, **changes: Any) -> Created:
    return dataclasses.replace(event, **changes)


def stream_of(*events: Event) -> tuple[Stamped[Event], ...]:
    return stamp(events)


def json_of(*events: Event) -> dict[str, JsonValue]:
    return continuation_to_json(replay(stream_of(*events)).continuation)


def test_a_new_continuation_is_pending_at_version_1_with_everything_it_was_given() -> None:
    state = replay(stamp([CREATED]))
    seen = state.continuation
    assert (seen.status, seen.version, seen.created_at, seen.expires_at) == (Status.PENDING, 1, START, DUE)
    assert (seen.id, seen.correlation_id, seen.queue, seen.owner) == ("q_1", "trip-42", "bookings", None)
    assert (seen.payload, seen.metadata) == ({"message": "Which flight?"}, {"team": "travel"})
    assert (seen.answerable_by, seen.created_by, seen.decided_at, seen.recorded) == (BOTH, None, None, None)
    assert state.token_hash == HASH
    assert replay(stamp([but(CREATED, by=OPERATOR)])).continuation.created_by == "ana"


def test_creating_causes_the_creation() -> None:
    assert given().when(Create(created=CREATED)) == (CREATED,)


@pytest.mark.parametrize("command", [RESUME, ANSWER, CANCEL, Expire(), REISSUE])
def test_nothing_can_be_done_with_what_was_never_created(command: Command) -> None:
    given().refused(command, ContinuationNotFound)


def test_an_id_is_taken_once() -> None:
    given(CREATED).refused(Create(created=CREATED), ContinuationExists)


def test_a_taken_id_tells_the_recorded_decision() -> None:
    refusal = given(CREATED, RESUMED).refused(Create(created=CREATED), ContinuationExists)
    assert refusal.recorded is not None
    assert (refusal.recorded.status, refusal.recorded.version) == ("resumed", 2)


KEYED = but(CREATED, creation_key="trip", request_digest="d1")


def test_the_same_request_under_the_same_key_finds_the_first() -> None:
    assert given(KEYED).when(Create(created=KEYED)) == ()


def test_another_request_under_the_same_key_conflicts() -> None:
    given(KEYED).refused(Create(created=but(KEYED, request_digest="d2")), IdempotencyConflict)


@pytest.mark.parametrize(
    "created", [but(KEYED, creation_key="other"), but(KEYED, by=OPERATOR), but(KEYED, creation_key=None)]
)
def test_another_key_or_another_creator_finds_the_id_taken(created: Created) -> None:
    given(KEYED).refused(Create(created=created), ContinuationExists)


def test_the_right_token_resumes() -> None:
    assert given(CREATED).when(RESUME) == (RESUMED,)


def test_an_operator_answers_without_a_token() -> None:
    assert given(CREATED).when(ANSWER) == (Resumed(by=OPERATOR, idempotency_key="k", payload=YES),)


def test_a_resumed_continuation_shows_its_answer() -> None:
    seen = replay(stamp([CREATED, RESUMED])).continuation
    assert (seen.status, seen.version, seen.resume_payload) == (Status.RESUMED, 2, {"flight": "AZ1"})
    assert (seen.idempotency_key, seen.by, seen.resumed_at) == ("k", BY_TOKEN, START + timedelta(seconds=1))
    assert seen.decided_at == seen.resumed_at


def test_an_answer_adds_itself_and_changes_nothing_else() -> None:
    asked = but(KEYED, owner="task:1", by=OPERATOR)
    created, reissued, resumed = stream_of(asked, REISSUED, RESUMED)
    before = evolve(evolve(None, created), reissued)
    ended = dataclasses.replace(
        before.continuation,
        version=3,
        status=Status.RESUMED,
        resumed_at=resumed.at,
        idempotency_key="k",
        resume_document=YES,
        by=BY_TOKEN,
    )
    assert evolve(before, resumed) == dataclasses.replace(before, continuation=ended)


@pytest.mark.parametrize("history", [(CREATED,), (CREATED, RESUMED), (CREATED, CANCELLED), (CREATED, Expired())])
@pytest.mark.parametrize("token_hash", [OTHER_HASH, None, b"", HASH[:-1]])
def test_a_wrong_token_is_told_so_in_every_state(history: tuple[Event, ...], token_hash: bytes | None) -> None:
    command = dataclasses.replace(RESUME, token_hash=token_hash)
    given(*history).at(DUE).refused(command, TokenMismatch)


def test_an_exact_retry_with_a_wrong_token_is_refused() -> None:
    given(CREATED, RESUMED).refused(dataclasses.replace(RESUME, token_hash=OTHER_HASH), TokenMismatch)


def test_no_token_opens_a_question_that_has_none() -> None:
    without = but(CREATED, token_hash=None)
    given(without).refused(dataclasses.replace(RESUME, token_hash=None), TokenMismatch)
    given(without).refused(dataclasses.replace(RESUME, token_hash=b""), TokenMismatch)


@pytest.mark.parametrize("now", [START, DUE, DUE + timedelta(days=400)])
def test_an_exact_retry_gets_the_recorded_outcome_whenever_it_comes(now: datetime) -> None:
    scenario = given(CREATED, RESUMED)
    scenario.now = now
    assert scenario.when(RESUME) == ()


def test_the_same_key_with_another_answer_conflicts() -> None:
    given(CREATED, RESUMED).refused(dataclasses.replace(RESUME, payload=NO), IdempotencyConflict)


def test_another_key_after_the_answer_finds_the_token_used() -> None:
    refusal = given(CREATED, RESUMED).refused(dataclasses.replace(RESUME, idempotency_key="k2"), TokenAlreadyUsed)
    assert refusal.recorded is not None
    assert refusal.recorded.decided_at == START + timedelta(seconds=1)


def test_the_same_key_by_somebody_else_is_another_key() -> None:
    answered = Resumed(by=OPERATOR, idempotency_key="k", payload=YES)
    assert given(CREATED, answered).when(ANSWER) == ()
    given(CREATED, answered).refused(dataclasses.replace(ANSWER, by=OTHER_OPERATOR), TokenAlreadyUsed)
    given(CREATED, answered).refused(RESUME, TokenAlreadyUsed)
    given(CREATED, RESUMED).refused(ANSWER, TokenAlreadyUsed)


@pytest.mark.parametrize("command", [RESUME, ANSWER])
def test_an_ended_question_takes_no_answer(command: Resume) -> None:
    given(CREATED, CANCELLED).refused(command, ContinuationCancelled)
    refusal = given(CREATED, Expired()).refused(command, ContinuationExpired)
    assert refusal.expires_at == DUE
    assert refusal.recorded is not None
    assert refusal.recorded.status == "expired"


@pytest.mark.parametrize("command", [RESUME, ANSWER, CANCEL, REISSUE, Expire()])
@pytest.mark.parametrize("late", [timedelta(0), timedelta(microseconds=1), timedelta(days=1)])
def test_from_the_deadline_on_every_command_causes_the_expiry(command: Command, late: timedelta) -> None:
    assert given(CREATED).at(DUE + late).when(command) == (Expired(),)


def test_just_before_the_deadline_the_answer_counts_and_nothing_expires() -> None:
    assert given(CREATED).at(DUE - timedelta(microseconds=1)).when(RESUME) == (RESUMED,)
    assert given(CREATED).at(DUE - timedelta(microseconds=1)).when(Expire()) == ()


def test_a_question_without_a_deadline_never_expires() -> None:
    assert given(but(CREATED, expires_at=None)).at(DUE).when(Expire()) == ()
    assert not is_overdue(replay(stamp([but(CREATED, expires_at=None)])).continuation, DUE)


@pytest.mark.parametrize("end", [RESUMED, CANCELLED, Expired()])
def test_an_ended_question_does_not_expire(end: Event) -> None:
    assert given(CREATED, end).at(DUE).when(Expire()) == ()


def test_an_operator_is_refused_where_only_a_token_answers() -> None:
    given(but(CREATED, answerable_by=(AnswerableBy.TOKEN,))).refused(ANSWER, Forbidden)


def test_what_was_shown_must_be_what_is_stored() -> None:
    right = dataclasses.replace(ANSWER, shown_digest=CREATED.shown_digest)
    wrong = dataclasses.replace(ANSWER, shown_digest="0" * 64)
    assert given(CREATED).when(right) != ()
    given(CREATED).refused(wrong, DigestMismatch)
    given(CREATED, CANCELLED).refused(wrong, ContinuationCancelled)


@pytest.mark.parametrize(("owner", "error"), [("pause:p_1", Owned), ("task:t_1", OwnedByTask)])
def test_nobody_goes_round_the_rules_of_an_owner(owner: str, error: type[PauseMeshError]) -> None:
    owned = but(CREATED, owner=owner, token_hash=HASH)
    for command in (RESUME, ANSWER, CANCEL, REISSUE):
        given(owned).refused(command, error)


def test_cancelling_records_the_reason() -> None:
    assert given(CREATED).when(CANCEL) == (CANCELLED,)
    seen = replay(stamp([CREATED, CANCELLED])).continuation
    assert (seen.status, seen.reason, seen.by) == (Status.CANCELLED, "too late", OPERATOR)
    assert seen.decided_at == seen.cancelled_at == START + timedelta(seconds=1)


@pytest.mark.parametrize("version", [None, 1])
def test_an_exact_cancel_retry_gets_the_recorded_outcome(version: int | None) -> None:
    command = dataclasses.replace(CANCEL, expected_version=version)
    assert given(CREATED, CANCELLED).at(DUE).when(command) == ()


def test_a_cancel_retry_that_differs_is_refused() -> None:
    given(CREATED, CANCELLED).refused(dataclasses.replace(CANCEL, reason="no"), InvalidTransition)
    given(CREATED, CANCELLED).refused(dataclasses.replace(CANCEL, reason=None), InvalidTransition)
    given(CREATED, CANCELLED).refused(dataclasses.replace(CANCEL, expected_version=3), VersionConflict)


def test_an_expected_version_fences_a_cancel() -> None:
    assert given(CREATED).when(dataclasses.replace(CANCEL, expected_version=1)) == (CANCELLED,)
    refusal = given(CREATED).at(DUE).refused(dataclasses.replace(CANCEL, expected_version=2), VersionConflict)
    assert (refusal.expected, refusal.actual, refusal.recorded) == (2, 1, None)


def test_who_knew_the_question_until_its_deadline_is_told_that_it_expired() -> None:
    for command in (CANCEL, REISSUE):
        for version in (1, 2):
            fenced = dataclasses.replace(command, expected_version=version)
            given(CREATED, Expired()).refused(fenced, ContinuationExpired)
        for version in (3, 7):
            fenced = dataclasses.replace(command, expected_version=version)
            given(CREATED, Expired()).refused(fenced, VersionConflict)
    reissued = dataclasses.replace(CANCEL, expected_version=1)
    given(CREATED, REISSUED, Expired()).refused(reissued, VersionConflict)


def test_cancelling_what_ended_otherwise_is_refused() -> None:
    given(CREATED, RESUMED).refused(CANCEL, InvalidTransition)
    given(CREATED, Expired()).refused(CANCEL, ContinuationExpired)
    given(CREATED, RESUMED).refused(dataclasses.replace(CANCEL, expected_version=1), VersionConflict)


def test_a_reissued_token_replaces_the_old_one() -> None:
    assert given(CREATED).when(REISSUE) == (REISSUED,)
    state = replay(stamp([CREATED, REISSUED]))
    assert (state.token_hash, state.reissues, state.continuation.version) == (OTHER_HASH, 1, 2)
    assert state.continuation.status is Status.PENDING
    given(CREATED, REISSUED).refused(RESUME, TokenMismatch)
    assert given(CREATED, REISSUED).when(dataclasses.replace(RESUME, token_hash=OTHER_HASH)) == (RESUMED,)


def test_a_token_is_reissued_eight_times() -> None:
    assert given(CREATED, *[REISSUED] * (REISSUES - 1)).when(REISSUE) == (REISSUED,)
    refusal = given(CREATED, *[REISSUED] * REISSUES).refused(REISSUE, InvalidTransition)
    assert "8 times" in str(refusal)


def test_a_token_is_not_reissued_where_none_may_answer_or_the_question_ended() -> None:
    given(but(CREATED, answerable_by=(AnswerableBy.OPERATOR,))).refused(REISSUE, Forbidden)
    given(CREATED, RESUMED).refused(REISSUE, TokenAlreadyUsed)
    given(CREATED, CANCELLED).refused(REISSUE, ContinuationCancelled)
    given(CREATED, Expired()).refused(REISSUE, ContinuationExpired)
    given(CREATED).refused(dataclasses.replace(REISSUE, expected_version=2), VersionConflict)


def test_every_transition_is_one_of_the_table() -> None:
    commands: tuple[Command, ...] = (RESUME, ANSWER, CANCEL, REISSUE, Expire())
    histories: tuple[tuple[Event, ...], ...] = (
        (CREATED,),
        (CREATED, REISSUED),
        (CREATED, RESUMED),
        (CREATED, CANCELLED),
        (CREATED, Expired()),
    )
    for history, command, now in itertools.product(histories, commands, (START, DUE)):
        before = replay(stamp(history)).continuation.status
        try:
            events = given(*history).at(now).when(command)
        except PauseMeshError:
            continue
        if events:
            after = replay(stamp([*history, *events])).continuation.status
            assert after in TRANSITIONS[before]
    assert [status for status, reachable in TRANSITIONS.items() if reachable] == [Status.PENDING]
    assert TRANSITIONS[Status.PENDING] == set(Status)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "empty"),
        ([RESUMED], "creation"),
        ([CREATED, CREATED], "creation"),
        ([CREATED, RESUMED, CANCELLED], "after its end"),
        ([CREATED, Expired(), REISSUED], "after its end"),
    ],
)
def test_an_impossible_stream_is_refused(events: list[Event], words: str) -> None:
    with pytest.raises(StoreCorrupt, match=words):
        replay(stamp(events))


def test_a_gap_in_a_stream_is_refused() -> None:
    first, second = stream_of(CREATED, RESUMED)
    with pytest.raises(StoreCorrupt, match="Version 2"):
        replay([first, dataclasses.replace(second, version=3)])
    with pytest.raises(StoreCorrupt, match="Version 1"):
        replay([second])


def test_nothing_can_be_applied_before_the_creation() -> None:
    with pytest.raises(StoreCorrupt, match="creation"):
        evolve(None, stream_of(RESUMED)[0])


KEYS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=9)
ACTORS = st.sampled_from([BY_TOKEN, BY_SYSTEM, OPERATOR, OTHER_OPERATOR])
DOCUMENTS = st.sampled_from([YES, NO, PAYLOAD, Document.of(None), Document.of([1, 2.5, "\u00e9\U0001f600"])])
ENDS = (
    st.builds(Resumed, by=ACTORS, idempotency_key=KEYS, payload=DOCUMENTS)
    | st.builds(Cancelled, by=ACTORS, reason=st.none() | st.just("x"))
    | st.just(Expired())
)
CREATIONS = st.builds(
    but,
    st.just(CREATED),
    payload=DOCUMENTS,
    expires_at=st.none() | st.just(DUE),
    token_hash=st.none() | st.just(HASH),
    queue=st.none() | st.just("q"),
    owner=st.none() | st.just("pause:p"),
    creation_key=st.none() | st.just("k"),
    request_digest=st.none() | st.just("d"),
    by=ACTORS,
)


@for_all(CREATIONS, st.lists(st.just(REISSUED), max_size=3), st.none() | ENDS)
def test_events_read_back_as_they_were_stored_and_two_replays_agree(
    created: Created, reissues: list[Event], end: Event | None
) -> None:
    stream = stamp([created, *reissues, *([end] if end else [])])
    read = []
    for one in stream:
        data = write_stored_event("q_1", one.version, event_members(one.event))
        members = read_stored_event(data, "q_1", one.version)
        assert data == write_stored_event("q_1", one.version, members)
        read.append(
            Stamped(event=read_event(event_type(one.event), "q_1", members), version=one.version, at=one.at, id=one.id)
        )
    assert tuple(read) == stream
    assert replay(read) == replay(stream)
    assert continuation_to_json(replay(read).continuation) == continuation_to_json(replay(stream).continuation)


def test_an_unknown_type_of_event_is_refused() -> None:
    with pytest.raises(UnknownSchemaVersion):
        read_event("continuation.teleported", "q_1", {})


@pytest.mark.parametrize(
    "type_name",
    ["continuation.created", "continuation.resumed", "continuation.cancelled", "continuation.token_reissued"],
)
@pytest.mark.parametrize(
    "members",
    [
        {},
        {"by": 5},
        {"by": {"kind": "nobody"}},
        {"by": {"kind": 1}},
        {"tokenHash": "zz", "by": {"kind": "system"}, "reason": 5},
    ],
)
def test_an_event_that_misses_members_is_refused(type_name: str, members: dict[str, object]) -> None:
    with pytest.raises(StoreCorrupt):
        read_event(type_name, "q_1", members)  # type: ignore[arg-type]


def test_no_representation_shows_a_token_hash_a_payload_or_a_reason() -> None:
    state = replay(
        stamp(
            [
                but(CREATED, payload=Document.of("canary-1")),
                Resumed(by=BY_TOKEN, idempotency_key="k", payload=Document.of("canary-2")),
            ]
        )
    )
    shown = repr(state) + repr(stamp([CREATED, RESUMED, CANCELLED])) + repr([RESUME, CANCEL, REISSUE])
    assert "canary" not in shown
    assert "too late" not in shown
    assert repr(HASH) not in shown


def test_the_envelope_as_json_has_the_members_of_its_status_and_no_others() -> None:
    common = {
        "schemaVersion", "continuationId", "correlationId", "version", "status", "createdAt", "expiresAt",
        "owner", "answerableBy", "payload", "shownDigest", "metadata",
    }  # fmt: skip
    assert set(json_of(CREATED)) == common
    assert set(json_of(CREATED, RESUMED)) == common | {"resumedAt", "idempotencyKey", "resumePayload", "by"}
    assert set(json_of(CREATED, CANCELLED)) == common | {"cancelledAt", "reason", "by"}
    assert set(json_of(CREATED, Cancelled(by=BY_SYSTEM))) == common | {"cancelledAt", "by"}
    assert set(json_of(CREATED, Expired())) == common | {"expiredAt"}
    assert json_of(CREATED)["expiresAt"] == "2030-01-08T00:00:00.000Z"
    assert json_of(CREATED, RESUMED)["resumedAt"] == "2030-01-01T00:00:01.000Z"
    assert json_of(CREATED, CANCELLED)["cancelledAt"] == "2030-01-01T00:00:01.000Z"
    assert json_of(CREATED, Expired())["expiredAt"] == "2030-01-01T00:00:01.000Z"
    assert json_of(CREATED, RESUMED)["by"] == {"kind": "token"}
    null_answer = json_of(CREATED, Resumed(by=BY_TOKEN, idempotency_key="k", payload=Document.of(None)))
    assert null_answer["resumePayload"] is None
    assert json_of(CREATED)["createdAt"] == "2030-01-01T00:00:00.000Z"
    assert json_of(CREATED, CANCELLED)["by"] == {"kind": "operator", "id": "ana"}
