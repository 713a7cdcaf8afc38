"""The continuation's life: every line that may change its status is in this file.

A continuation begins pending and ends once, in exactly one of three ways::

    pending ──Resume──▶ resumed        the one answer that counts
       │────Cancel──▶ cancelled        taken back
       │────Expire──▶ expired          the deadline passed; the instant itself counts as passed
       └───Reissue──▶ pending          a new token, the old one dies

``decide`` says which events a command causes, and may refuse. No event means that the command was carried out
before: the state is its recorded outcome. A command that comes after the deadline causes the expiry instead of what
it asked for. ``evolve`` applies an event and never refuses. ``now`` is only a hint for ``decide``: the store compares
the deadline by its own clock in the step that writes.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final, NoReturn, TypeAlias, assert_never

from pausemesh.core import limits
from pausemesh.core.continuation_events import Cancelled, Created, Event, Expired, Resumed, TokenReissued
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy, Continuation, Status
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
    StoreCorrupt,
    TokenAlreadyUsed,
    TokenMismatch,
    VersionConflict,
)
from pausemesh.core.principal import Actor, ActorKind
from pausemesh.core.stored_event import Stamped, complete
from pausemesh.core.tokens import same_hash

TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.PENDING: frozenset({Status.PENDING, Status.RESUMED, Status.CANCELLED, Status.EXPIRED}),
    Status.RESUMED: frozenset(),
    Status.CANCELLED: frozenset(),
    Status.EXPIRED: frozenset(),
}

STATUS_AFTER: Final[Mapping[type[Event], Status]] = {
    Created: Status.PENDING,
    TokenReissued: Status.PENDING,
    Resumed: Status.RESUMED,
    Cancelled: Status.CANCELLED,
    Expired: Status.EXPIRED,
}
"""What ``evolve`` makes of the status, for whoever needs to know no more."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Ask. The members were checked; ``created`` is what will be stored."""

    created: Created


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Answer, with the hash of a resume token (by a token) or as an operator."""

    by: Actor
    idempotency_key: str
    payload: Document = dataclasses.field(repr=False)
    token_hash: bytes | None = dataclasses.field(default=None, repr=False)
    shown_digest: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Take back."""

    by: Actor
    reason: str | None = dataclasses.field(default=None, repr=False)
    expected_version: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Record that the deadline has passed, where it has."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reissue:
    """Put a new token in the place of the old one."""

    by: Actor
    token_hash: bytes = dataclasses.field(repr=False)
    expected_version: int | None = None


Command: TypeAlias = Create | Resume | Cancel | Expire | Reissue


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What replaying the events gives: the envelope, and what nobody outside may see or needs to."""

    continuation: Continuation
    token_hash: bytes | None = dataclasses.field(repr=False)
    creation_key: str | None
    created_by: Actor
    request_digest: str | None
    reissues: int = 0


def decide(state: State | None, command: Command, now: datetime) -> tuple[Event, ...]:
    """Return the events that a command causes; none where it was carried out before.

    Raises:
        PauseMeshError: it is refused; the checks stand in the order of the HTTP contract.
    """
    if isinstance(command, Create):
        return _decide_create(state, command)
    if state is None:
        raise ContinuationNotFound
    match command:
        case Resume():
            return _decide_resume(state, command, now)
        case Cancel():
            return _decide_cancel(state, command, now)
        case Expire():
            return (Expired(),) if is_overdue(state.continuation, now) else ()
        case Reissue():
            return _decide_reissue(state, command, now)
        case _:
            assert_never(command)


def evolve(state: State | None, stamped: Stamped[Event]) -> State:
    """Apply an event that was stored."""
    event = stamped.event
    if isinstance(event, Created):
        return _state_of_created(event, stamped)
    if state is None:
        raise StoreCorrupt("A stream does not begin with a creation.")
    match event:
        case TokenReissued():
            return dataclasses.replace(
                state,
                continuation=dataclasses.replace(state.continuation, version=stamped.version),
                token_hash=event.token_hash,
                reissues=state.reissues + 1,
            )
        case Resumed():
            return _state_of_resumed(state, event, stamped)
        case Cancelled():
            return _end(
                state, stamped, status=Status.CANCELLED, cancelled_at=stamped.at, reason=event.reason, by=event.by
            )
        case Expired():
            return _end(state, stamped, status=Status.EXPIRED, expired_at=stamped.at)
        case _:
            assert_never(event)


def replay(stream: Iterable[Stamped[Event]]) -> State:
    """Return the state that a whole stream gives.

    Raises:
        StoreCorrupt: it is empty, does not begin with its only creation, has a gap, or goes on after its end.
    """
    state: State | None = None
    for stamped in complete(stream):
        if (state is None) is not isinstance(stamped.event, Created):
            raise StoreCorrupt("A stream holds its one creation at another place than the first.")
        if state is not None and not TRANSITIONS[state.continuation.status]:
            raise StoreCorrupt("A stream goes on after its end.")
        state = evolve(state, stamped)
    assert state is not None, "a whole stream has an event"
    return state


def is_overdue(continuation: Continuation, now: datetime) -> bool:
    """Tell whether it is pending although its deadline has passed."""
    due = continuation.expires_at
    return continuation.status is Status.PENDING and due is not None and due <= now


def _decide_create(state: State | None, command: Create) -> tuple[Event, ...]:
    created = command.created
    if state is None:
        return (created,)
    same_key = created.creation_key is not None and created.creation_key == state.creation_key
    if not same_key or created.by != state.created_by:
        raise ContinuationExists(recorded=state.continuation.recorded)
    if created.request_digest != state.request_digest:
        raise IdempotencyConflict
    return ()


def require_answerable_by_operator(ways: Collection[object]) -> None:
    """Pass a question that is answerable by an operator.

    Raises:
        Forbidden: it is answerable by a token alone.
    """
    if AnswerableBy.OPERATOR not in ways:
        raise Forbidden("This question is not answerable by an operator.")


def _decide_resume(state: State, command: Resume, now: datetime) -> tuple[Event, ...]:
    continuation = state.continuation
    if command.by.kind is ActorKind.TOKEN:
        if not same_hash(command.token_hash, state.token_hash):
            raise TokenMismatch
    else:
        require_answerable_by_operator(continuation.answerable_by)
    if command.idempotency_key == continuation.idempotency_key and command.by == continuation.by:
        if command.payload != continuation.resume_document:
            raise IdempotencyConflict
        return ()
    if is_overdue(continuation, now):
        return (Expired(),)
    if continuation.status is not Status.PENDING:
        _refuse_decided(continuation, TokenAlreadyUsed)
    _refuse_owned(continuation)
    if command.shown_digest is not None and command.shown_digest != continuation.shown_digest:
        raise DigestMismatch
    return (Resumed(by=command.by, idempotency_key=command.idempotency_key, payload=command.payload),)


def _decide_cancel(state: State, command: Cancel, now: datetime) -> tuple[Event, ...]:
    continuation = state.continuation
    is_repeat = continuation.status is Status.CANCELLED and command.reason == continuation.reason
    if is_repeat and command.expected_version in {None, continuation.version - 1}:
        return ()
    _refuse_stale(continuation, command.expected_version)
    if is_overdue(continuation, now):
        return (Expired(),)
    if continuation.status is not Status.PENDING:
        _refuse_decided(continuation, InvalidTransition, cancelled=InvalidTransition)
    _refuse_owned(continuation)
    return (Cancelled(by=command.by, reason=command.reason),)


def _decide_reissue(state: State, command: Reissue, now: datetime) -> tuple[Event, ...]:
    continuation = state.continuation
    if AnswerableBy.TOKEN not in continuation.answerable_by:
        raise Forbidden("This question is not answerable by a token.")
    _refuse_stale(continuation, command.expected_version)
    if is_overdue(continuation, now):
        return (Expired(),)
    if continuation.status is not Status.PENDING:
        _refuse_decided(continuation, TokenAlreadyUsed)
    _refuse_owned(continuation)
    if state.reissues >= limits.REISSUES:
        raise InvalidTransition(f"A token can be reissued {limits.REISSUES} times.")
    return (TokenReissued(token_hash=command.token_hash, by=command.by),)


def _refuse_stale(continuation: Continuation, expected: int | None) -> None:
    actual = {continuation.version}
    if continuation.status is Status.EXPIRED:
        actual.add(continuation.version - 1)  # who knew the question until its deadline is told of that
    if expected is not None and expected not in actual:
        raise VersionConflict(expected=expected, actual=continuation.version, recorded=continuation.recorded)


def _refuse_owned(continuation: Continuation) -> None:
    if continuation.owner is not None:
        raise OwnedByTask if continuation.owner.startswith("task:") else Owned


def _refuse_decided(
    continuation: Continuation,
    resumed: type[InvalidTransition | TokenAlreadyUsed],
    *,
    cancelled: type[InvalidTransition | ContinuationCancelled] = ContinuationCancelled,
) -> NoReturn:
    recorded = continuation.recorded
    if continuation.status is Status.EXPIRED:
        raise ContinuationExpired(expires_at=continuation.expires_at, recorded=recorded)
    if continuation.status is Status.CANCELLED:
        raise cancelled(recorded=recorded)
    raise resumed(recorded=recorded)


def _state_of_created(event: Created, stamped: Stamped[Event]) -> State:
    return State(
        continuation=Continuation(
            id=event.id,
            correlation_id=event.correlation_id,
            version=stamped.version,
            status=Status.PENDING,
            created_at=stamped.at,
            expires_at=event.expires_at,
            owner=event.owner,
            answerable_by=event.answerable_by,
            payload_document=event.payload,
            metadata_document=event.metadata,
            shown_digest=event.shown_digest,
            queue=event.queue,
            created_by=event.by.id,
        ),
        token_hash=event.token_hash,
        creation_key=event.creation_key,
        created_by=event.by,
        request_digest=event.request_digest,
    )


def _state_of_resumed(state: State, event: Resumed, stamped: Stamped[Event]) -> State:
    """Write every member out: this is the end of most questions, and ``replace`` looks each one up by its name."""
    asked = state.continuation
    return State(
        continuation=Continuation(
            id=asked.id,
            correlation_id=asked.correlation_id,
            version=stamped.version,
            status=Status.RESUMED,
            created_at=asked.created_at,
            expires_at=asked.expires_at,
            owner=asked.owner,
            answerable_by=asked.answerable_by,
            payload_document=asked.payload_document,
            metadata_document=asked.metadata_document,
            shown_digest=asked.shown_digest,
            queue=asked.queue,
            created_by=asked.created_by,
            resumed_at=stamped.at,
            idempotency_key=event.idempotency_key,
            resume_document=event.payload,
            by=event.by,
        ),
        token_hash=state.token_hash,
        creation_key=state.creation_key,
        created_by=state.created_by,
        request_digest=state.request_digest,
        reissues=state.reissues,
    )


def _end(state: State, stamped: Stamped[Event], **decision: object) -> State:
    ended = dataclasses.replace(state.continuation, version=stamped.version, **decision)  # type: ignore[arg-type]
    return dataclasses.replace(state, continuation=ended)
