"""The right to go on with a decided continuation: open → held → done, or lapsed → held by the next.

Who holds it, under which fence and until when are columns of the continuation's head, changed by the store alone and
by its own clock. What is kept is in the claim's own stream: each ``Failed`` of a worker that gave up, and the one
``Finished`` that ends it.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from pausemesh.core import limits
from pausemesh.core.document import Document
from pausemesh.core.envelope import ClaimStatus, ClaimView, Continuation, Status
from pausemesh.core.errors import (
    ActionMismatch,
    ClaimDone,
    InvalidTransition,
    LeaseLost,
    StoreCorrupt,
    StreamTooLong,
    UnknownSchemaVersion,
)
from pausemesh.core.question import is_yes
from pausemesh.core.stored_event import Members, Stamped, complete
from pausemesh.core.stored_members import document, text, text_or_none, whole_number
from pausemesh.core.values import JsonValue

FINISHED_TYPE: Final = "claim.finished"
FAILED_TYPE: Final = "claim.failed"
_EVENTS_KEPT_FOR_END: Final = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Somebody went on and finished, with this result."""

    worker: str
    fence: int
    result: Document = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Somebody could not go on, and gave the claim back."""

    worker: str
    fence: int
    reason: str | None = dataclasses.field(default=None, repr=False)


Event: TypeAlias = Failed | Finished


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is kept of a claim: how it failed last, how it ended, and when the last of it happened."""

    version: int
    at: datetime
    failed: Failed | None = None
    finished: Finished | None = None

    @property
    def end(self) -> Finished:
        """How it ended; for a claim that is done."""
        assert self.finished is not None, "it is done"
        return self.finished


def decide_finish(state: Claim | None, finish: Finished) -> tuple[Event, ...]:
    """Return the event of a worker that is done; none where this worker said the same before.

    Raises:
        LeaseLost: another one finished under a later fence.
        ClaimDone: this one finished before, with another result.
    """
    if state is None or state.finished is None:
        return (finish,)
    if state.finished == finish:
        return ()
    if state.finished.fence != finish.fence:
        raise LeaseLost
    raise ClaimDone(result=state.finished.result.value)


def decide_fail(state: Claim | None, fail: Failed) -> tuple[Event, ...]:
    """Return the event of a worker that gives up; none where it said the same before.

    Raises:
        LeaseLost: the claim is done, or this worker said something else before.
        StreamTooLong: so many gave up that no more can be kept.
    """
    if state is None:
        return (fail,)
    if state.finished is not None:
        raise LeaseLost
    if state.failed is not None and state.failed.fence == fail.fence:
        if state.failed == fail:
            return ()
        raise LeaseLost
    if state.version + _EVENTS_KEPT_FOR_END >= limits.EVENTS_PER_STREAM:
        raise StreamTooLong(limit=limits.EVENTS_PER_STREAM)
    return (fail,)


def evolve(state: Claim | None, stamped: Stamped[Event]) -> Claim:
    """Apply an event that was stored."""
    event = stamped.event
    failed = None if state is None else state.failed
    match event:
        case Failed():
            return Claim(version=stamped.version, at=stamped.at, failed=event)
        case Finished():
            return Claim(version=stamped.version, at=stamped.at, failed=failed, finished=event)
        case _:
            assert_never(event)


def replay(stream: Iterable[Stamped[Event]]) -> Claim:
    """Return the state that a claim's stream gives.

    Raises:
        StoreCorrupt: it is empty, has a gap, or goes on after its end.
    """
    state: Claim | None = None
    for stamped in complete(stream):
        if state is not None and state.finished is not None:
            raise StoreCorrupt("A claim's stream goes on after its end.")
        state = evolve(state, stamped)
    assert state is not None, "a whole stream has an event"
    return state


def event_type(event: Event) -> str:
    """Return the type under which an event is stored."""
    return FINISHED_TYPE if isinstance(event, Finished) else FAILED_TYPE


def event_members(event: Event) -> Members:
    """Return what is stored of an event; members without a value are left out."""
    if isinstance(event, Finished):
        return {"worker": event.worker, "fence": event.fence, "result": event.result}
    members: dict[str, Document | JsonValue] = {"worker": event.worker, "fence": event.fence}
    return members if event.reason is None else {**members, "reason": event.reason}


def read_event(type_name: str, _noun_id: str, members: Mapping[str, JsonValue]) -> Event:
    """Return the event that was stored as ``members``.

    Raises:
        UnknownSchemaVersion: the type is not known to this release.
        StoreCorrupt: it cannot be read.
    """
    if type_name not in {FINISHED_TYPE, FAILED_TYPE}:
        raise UnknownSchemaVersion("An event has a type that is not known.")
    try:
        worker, fence = text(members, "worker"), whole_number(members, "fence")
        if type_name == FAILED_TYPE:
            return Failed(worker=worker, fence=fence, reason=text_or_none(members, "reason"))
        return Finished(worker=worker, fence=fence, result=document(members, "result"))
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt("A claim's event cannot be read.") from None


def claim_view(
    *, holder: str | None, fence: int, lease_until: datetime | None, done_at: datetime | None, now: datetime
) -> ClaimView:
    """Return the claim as others may see it at ``now``; a lease that ends at this very instant has lapsed."""
    if done_at is not None:
        return ClaimView(status=ClaimStatus.DONE, fence=fence, worker=holder, done_at=done_at)
    if holder is None or lease_until is None:
        return ClaimView(status=ClaimStatus.OPEN, fence=fence)
    status = ClaimStatus.HELD if lease_until > now else ClaimStatus.LAPSED
    return ClaimView(status=status, fence=fence, worker=holder, lease_until=lease_until)


def require_claimable(continuation: Continuation) -> None:
    """Pass a continuation that was resumed.

    Raises:
        InvalidTransition: it is pending, cancelled or expired; nobody goes on with it.
    """
    if continuation.status is not Status.RESUMED:
        raise InvalidTransition("Only an answered question can be claimed.", recorded=continuation.recorded)


def require_action(continuation: Continuation, name: str, arguments: Document) -> None:
    """Pass the action that was shown and approved, with exactly its arguments, key order aside.

    A question without an action admits any.

    Raises:
        ActionMismatch: the name or the arguments are others, or it was not approved.
    """
    action = continuation.question.action
    if action is None:
        return
    if action.name != name or action.arguments != arguments:
        raise ActionMismatch(recorded=continuation.recorded)
    if not is_yes(continuation.resume_payload):
        raise ActionMismatch("The answer is not a yes.", recorded=continuation.recorded)
