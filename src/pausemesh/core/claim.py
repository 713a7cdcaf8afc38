"""The right to go on with a decided continuation: open → held → done, or lapsed → held by the next.

Who holds it, under which fence and until when are columns of the continuation's head, changed by the store alone and
by its own clock. What is decided once and kept is ``Finished``: the one event of a claim's own stream.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from pausemesh.core.document import Document
from pausemesh.core.envelope import ClaimStatus, ClaimView, Continuation, Status
from pausemesh.core.errors import (
    ActionMismatch,
    ClaimDone,
    InvalidTransition,
    LeaseLost,
    StoreCorrupt,
    UnknownSchemaVersion,
)
from pausemesh.core.stored_event import Members, Stamped
from pausemesh.core.stored_members import document, text, whole_number
from pausemesh.core.values import JsonValue

FINISHED_TYPE: Final = "claim.finished"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Somebody went on and finished, with this result."""

    worker: str
    fence: int
    result: Document = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FinishedClaim:
    """A claim that is done."""

    finished: Finished
    at: datetime


def decide_finish(state: FinishedClaim | None, finish: Finished) -> tuple[Finished, ...]:
    """Return the event of a worker that is done; none where this worker said the same before.

    Raises:
        LeaseLost: another one finished under a later fence.
        ClaimDone: this one finished before, with another result.
    """
    if state is None:
        return (finish,)
    if state.finished == finish:
        return ()
    if state.finished.fence != finish.fence:
        raise LeaseLost
    raise ClaimDone(result=state.finished.result.value)


def evolve(_state: FinishedClaim | None, stamped: Stamped[Finished]) -> FinishedClaim:
    """Apply the one event."""
    return FinishedClaim(finished=stamped.event, at=stamped.at)


def replay(stream: Iterable[Stamped[Finished]]) -> FinishedClaim:
    """Return the state that a claim's stream gives.

    Raises:
        StoreCorrupt: it holds anything but one event.
    """
    events = tuple(stream)
    if len(events) != 1:
        raise StoreCorrupt("A claim's stream holds one event.")
    return evolve(None, events[0])


def finished_type(_finished: Finished) -> str:
    """Return the type under which the event is stored."""
    return FINISHED_TYPE


def finished_members(finished: Finished) -> Members:
    """Return what is stored of the event."""
    return {"worker": finished.worker, "fence": finished.fence, "result": finished.result}


def read_finished(type_name: str, _noun_id: str, members: Mapping[str, JsonValue]) -> Finished:
    """Return the event that was stored as ``members``.

    Raises:
        UnknownSchemaVersion: the type is not known to this release.
        StoreCorrupt: it cannot be read.
    """
    if type_name != FINISHED_TYPE:
        raise UnknownSchemaVersion("An event has a type that is not known.")
    try:
        return Finished(
            worker=text(members, "worker"),
            fence=whole_number(members, "fence"),
            result=document(members, "result"),
        )
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

    A question without an action admits any. Approved is an answer that is ``true``, or an object whose ``approved``
    is; whatever else it says, the action is not admitted.

    Raises:
        ActionMismatch: the name or the arguments are others, or it was not approved.
    """
    action = continuation.question.action
    if action is None:
        return
    if action.name != name or action.arguments != arguments:
        raise ActionMismatch(recorded=continuation.recorded)
    answer = continuation.resume_payload
    approved = answer.get("approved") if isinstance(answer, dict) else answer
    if approved is not True:
        raise ActionMismatch("The answer is not a yes.", recorded=continuation.recorded)
