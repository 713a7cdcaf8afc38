"""What a refusal says: its words, and the recorded outcome beside them."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pausemesh.core import (
    api_key,
    claim,
    continuation,
    continuation_events,
    effect,
    effect_events,
    stored_event,
    stored_members,
)
from pausemesh.core.continuation_events import Cancelled, Resumed
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.errors import (
    ClaimDone,
    Conflict,
    ContinuationCancelled,
    ContinuationExpired,
    Forbidden,
    InvalidTransition,
    PauseMeshError,
    PayloadTooLarge,
    StreamTooLong,
    TokenAlreadyUsed,
    VersionConflict,
)
from pausemesh.core.issue import RecordedOutcome
from pausemesh.core.limits import REISSUES
from pausemesh.core.policy import Policy
from pausemesh.core.principal import BY_SYSTEM
from pausemesh.core.tokens import format_token
from pausemesh.core.values import check_aware, check_foreign_id, check_own_id, time_from_text
from pausemesh.testing.given import START, stamp
from tests.core import test_api_key as keys
from tests.core import test_claim as claims
from tests.core import test_continuation as questions
from tests.core import test_effect as effects

TOKEN_ONLY = questions.but(questions.CREATED, answerable_by=(AnswerableBy.TOKEN,))
TWO = questions.stream_of(questions.CREATED, questions.RESUMED)
OPERATOR_ONLY = questions.but(questions.CREATED, answerable_by=(AnswerableBy.OPERATOR,))


def words_of(attempt: Callable[[], object]) -> str | None:
    with pytest.raises((PauseMeshError, ValueError, TypeError)) as refusal:
        attempt()
    return refusal.value.detail if isinstance(refusal.value, PauseMeshError) else str(refusal.value)


def decide(*history: Any, command: Any) -> Callable[[], object]:
    return lambda: questions.given(*history).when(command)


def settle(*history: Any, command: Any) -> Callable[[], object]:
    return lambda: effects.given(*history).when(command)


def claim_of(payload: Any, *events: Any) -> Callable[[], object]:
    return lambda: claim.require_claimable(claims.continuation(payload, *events))


def act(answer: Any) -> Callable[[], object]:
    seen = claims.continuation(claims.APPROVAL, claims.resumed(answer))
    arguments = Document.of({"flight": "AZ1", "seats": 2})
    return lambda: claim.require_action(seen, "book", arguments)


SAYINGS: list[tuple[str, Callable[[], object]]] = [
    ("This question is not answerable by an operator.", decide(TOKEN_ONLY, command=questions.ANSWER)),
    ("This question is not answerable by a token.", decide(OPERATOR_ONLY, command=questions.REISSUE)),
    (
        "A token can be reissued 8 times.",
        decide(questions.CREATED, *[questions.REISSUED] * REISSUES, command=questions.REISSUE),
    ),
    ("A stream is empty.", lambda: continuation.replay([])),
    (
        "A stream does not begin with a creation.",
        lambda: continuation.evolve(None, questions.stream_of(questions.RESUMED)[0]),
    ),
    (
        "A stream holds its one creation at another place than the first.",
        lambda: continuation.replay(questions.stream_of(questions.RESUMED)),
    ),
    (
        "A stream goes on after its end.",
        lambda: continuation.replay(questions.stream_of(questions.CREATED, questions.RESUMED, questions.CANCELLED)),
    ),
    ("Version 1 of a stream is missing.", lambda: continuation.replay(TWO[1:])),
    ("There is no effect with this key.", settle(command=effects.FOUND)),
    ("A stream is empty.", lambda: effect.replay([])),
    ("An effect's stream does not begin with a start.", lambda: effect.replay(stamp([effects.COMPLETED]))),
    (
        "The effect has another outcome already.",
        settle(effects.STARTED, effects.FAILED, command=effect.Doubt(fence=1)),
    ),
    (
        "The effect is running.",
        settle(effects.STARTED, command=dataclasses.replace(effects.FOUND, is_running=True)),
    ),
    ("The effect's outcome is known.", settle(effects.STARTED, effects.COMPLETED, command=effects.FOUND)),
    ("A stream is empty.", lambda: claim.replay([])),
    ("A claim's stream goes on after its end.", lambda: claim.replay(stamp([claims.FINISHED, claims.FINISHED]))),
    ("A stream is empty.", lambda: api_key.replay([])),
    ("A key's stream does not begin with a creation.", lambda: api_key.replay(stamp([keys.REVOKED]))),
    ("An event has a type that is not known.", lambda: api_key.read_event("key.dreamt", keys.KEY_ID, {})),
    ("An event has a type that is not known.", lambda: claim.read_event("claim.lost", "q", {})),
    ("A claim's event cannot be read.", lambda: claim.read_event("claim.finished", "q", {})),
    ("Only an answered question can be claimed.", claim_of({})),
    ("The answer is not a yes.", act({"approved": False})),
    (
        "The approved action was started under another key.",
        settle(effects.STARTED, command=effect.Start(started=dataclasses.replace(effects.STARTED, key="k2"))),
    ),
    ("An event has a type that is not known.", lambda: continuation_events.read_event("continuation.x", "q", {})),
    (
        "An event of type continuation.created cannot be read.",
        lambda: continuation_events.read_event("continuation.created", "q", {}),
    ),
    ("An event has a type that is not known.", lambda: effect_events.read_event("effect.x", "q", {})),
    ("An event of type effect.failed cannot be read.", lambda: effect_events.read_event("effect.failed", "q", {})),
    ("An event of version 3 is not JSON.", lambda: stored_event.read_stored_event(b"{", "q", 3)),
    ("An event of version 3 is not an object.", lambda: stored_event.read_stored_event(b"[]", "q", 3)),
    (
        "An event of version 3 has a schema version that is not known.",
        lambda: stored_event.read_stored_event(b"{}", "q", 3),
    ),
    (
        "An event of version 3 belongs to another place.",
        lambda: stored_event.read_stored_event(b'{"id":"p","schemaVersion":1,"version":3}', "q", 3),
    ),
    (
        "An event of version 3 belongs to another place.",
        lambda: stored_event.read_stored_event(b'{"id":"q","schemaVersion":1,"version":2}', "q", 3),
    ),
    ("by", lambda: stored_members.read_actor("somebody")),
    ("name", lambda: stored_members.text({"name": 5}, "name")),
    ("name", lambda: stored_members.whole_number({"name": "5"}, "name")),
    ("a token has 32 bytes of entropy", lambda: format_token(b"")),
    ("not a UTC time", lambda: time_from_text("2030-01-01T00:00:00+01:00")),
    (
        "lifetime must be positive and not beyond max_lifetime, which is at most a hundred years",
        lambda: Policy(lifetime=Policy().lifetime * 20),
    ),
    ("The limit is 5 bytes.", lambda: _raise(PayloadTooLarge(limit=5))),
    ("The limit is 5 events.", lambda: _raise(StreamTooLong(limit=5))),
    ("Expected version 1, actual version 2.", lambda: _raise(VersionConflict(expected=1, actual=2))),
]


def test_each_refusal_says_what_it_says_here() -> None:
    assert [words_of(attempt) for _, attempt in SAYINGS] == [words for words, _ in SAYINGS]


def _raise(error: PauseMeshError) -> None:
    raise error


@pytest.mark.parametrize(
    ("attempt", "issue"),
    [
        (
            lambda: check_own_id("", "/id"),
            ("/id", "id", "must be 1 to 200 of A-Z a-z 0-9 . _ : ~ @ - and inner blanks"),
        ),
        (
            lambda: check_foreign_id("", "/c"),
            ("/c", "text", "must be 1 to 200 characters without control characters"),
        ),
        (lambda: check_aware(5, "/t"), ("/t", "time", "must be a time with a zone")),
    ],
)
def test_an_issue_says_where_and_why(attempt: Callable[[], object], issue: tuple[str, str, str]) -> None:
    with pytest.raises(PauseMeshError) as refusal:
        attempt()
    assert [dataclasses.astuple(one) for one in refusal.value.issues] == [issue]
    assert str(refusal.value).endswith(f"{issue[0]}: {issue[2]}")


RESUMED = RecordedOutcome(status="resumed", version=2, decided_at=datetime(2030, 1, 1, 0, 0, 1, tzinfo=UTC))
CANCELLED = dataclasses.replace(RESUMED, status="cancelled")
EXPIRED = dataclasses.replace(RESUMED, status="expired")


@pytest.mark.parametrize(
    ("error", "recorded", "attempt"),
    [
        (
            VersionConflict,
            RESUMED,
            decide(
                questions.CREATED,
                questions.RESUMED,
                command=dataclasses.replace(questions.CANCEL, expected_version=1),
            ),
        ),
        (InvalidTransition, RESUMED, decide(questions.CREATED, questions.RESUMED, command=questions.CANCEL)),
        (TokenAlreadyUsed, RESUMED, decide(questions.CREATED, questions.RESUMED, command=questions.REISSUE)),
        (ContinuationCancelled, CANCELLED, decide(questions.CREATED, questions.CANCELLED, command=questions.RESUME)),
        (InvalidTransition, CANCELLED, claim_of({}, Cancelled(by=BY_SYSTEM))),
        (
            ClaimDone,
            None,
            lambda: claims.given(claims.FINISHED).when(dataclasses.replace(claims.FINISHED, worker="w2")),
        ),
    ],
)
def test_a_conflict_tells_the_decision_that_was_first(
    error: type[Conflict], recorded: RecordedOutcome | None, attempt: Callable[[], object]
) -> None:
    with pytest.raises(error) as refusal:
        attempt()
    assert refusal.value.recorded == recorded


@pytest.mark.parametrize("answer", [{"approved": False}, {"approved": True}])
def test_another_action_or_a_declined_one_tells_the_decision(answer: dict[str, bool]) -> None:
    seen = claims.continuation(claims.APPROVAL, claims.resumed(answer))  # type: ignore[arg-type]
    arguments = {"flight": "AZ1", "seats": 2 if answer["approved"] is False else 3}
    with pytest.raises(Conflict) as refusal:
        claim.require_action(seen, "book", Document.of(arguments))
    assert refusal.value.recorded == RESUMED


def test_an_expiry_tells_its_time_and_the_decision() -> None:
    with pytest.raises(ContinuationExpired) as refusal:
        questions.given(questions.CREATED, continuation_events.Expired()).when(questions.RESUME)
    assert (refusal.value.expires_at, refusal.value.recorded) == (questions.DUE, EXPIRED)


def test_errors_keep_what_they_were_given() -> None:
    done = ClaimDone(result=1, recorded=RESUMED)
    conflict = VersionConflict(expected=1, actual=2, recorded=RESUMED)
    assert (done.result, done.recorded, conflict.recorded) == (1, RESUMED, RESUMED)
    assert PauseMeshError("why").args == ("why",)
    assert Forbidden().args == (None,)


class Undocumented(PauseMeshError):
    pass


class LongWinded(PauseMeshError):
    """First line.

    Second line.
    """


def test_the_first_line_of_a_types_docstring_is_its_message() -> None:
    assert str(LongWinded("Detail.")) == "First line. Detail."
    Undocumented.__doc__ = None
    assert str(Undocumented("Detail.")) == "Detail."


def test_an_event_larger_than_any_limit_of_today_still_loads() -> None:
    large = Document(b'"' + b"x" * 100_000 + b'"')
    created = questions.but(questions.CREATED, payload=large, metadata=large)
    resumed = Resumed(by=BY_SYSTEM, idempotency_key="k", payload=large)
    for event in (created, resumed):
        data = stored_event.write_stored_event("q_1", 1, continuation_events.event_members(event))
        members = stored_event.read_stored_event(data, "q_1", 1)
        assert continuation_events.read_event(continuation_events.event_type(event), "q_1", members) == event
    finished = dataclasses.replace(claims.FINISHED, result=large)
    data = stored_event.write_stored_event("q", 1, claim.event_members(finished))
    assert claim.read_event("claim.finished", "q", stored_event.read_stored_event(data, "q", 1)) == finished
    started = dataclasses.replace(effects.STARTED, arguments=large)
    data = stored_event.write_stored_event("e", 1, effect_events.event_members(started))
    assert effect_events.read_event("effect.started", "e", stored_event.read_stored_event(data, "e", 1)) == started
    assert START.tzinfo is UTC
