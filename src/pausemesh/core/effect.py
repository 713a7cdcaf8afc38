"""A declared external side effect in a ledger, by key: it runs once, or is known to be in doubt.

::

    (none) ──Start──▶ started ──Complete──▶ completed      its result is recorded and never produced again
                       │  ├──Fail──▶ failed ──Start──▶ …    it surely did not happen, and may be tried again
                       │  └──Doubt──▶ unknown
                       └── the claim passed on: unknown as well
    unknown ──Resolve──▶ completed | failed                 by evidence: it was done, or it was not

A start is recorded before anything happens. A start by a claim that passed on without an outcome is in doubt and is
never tried again by itself. ``Fail`` is said only by who knows that nothing happened.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never

from pausemesh.core import limits
from pausemesh.core.document import Document
from pausemesh.core.effect_events import Completed, Doubted, Event, Failed, Resolution, Resolved, Started
from pausemesh.core.envelope import actor_to_json, optional_time_to_text
from pausemesh.core.errors import (
    ActionMismatch,
    ClaimNotFound,
    EffectConflict,
    EffectUnknown,
    InvalidTransition,
    LeaseLost,
    StoreCorrupt,
    StreamTooLong,
)
from pausemesh.core.principal import Actor
from pausemesh.core.stored_event import Stamped, complete
from pausemesh.core.values import JsonValue, time_to_text


class EffectStatus(enum.StrEnum):
    """Where an effect is in its life."""

    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An effect as the ledger knows it; ``result`` is plain JSON, a fresh copy at each look.

    ``fence`` is the one under which it was started last, ``attempts`` counts the starts, ``attempt`` is the caller's
    name for the last one.
    """

    key: str
    kind: str
    arguments_digest: str
    status: EffectStatus
    version: int
    fence: int
    worker: str
    attempts: int
    started_at: datetime
    attempt: str | None = None
    decided_at: datetime | None = None
    result_document: Document | None = dataclasses.field(default=None, repr=False)
    evidence: str | None = dataclasses.field(default=None, repr=False)
    resolved_by: Actor | None = None

    @property
    def result(self) -> JsonValue:
        """What it gave; None also while there is no result, which ``status`` tells apart."""
        return None if self.result_document is None else self.result_document.value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Be about to do it, as the holder of the claim under ``started.fence``."""

    started: Started


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """It happened, and gave this."""

    fence: int
    result: Document = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """It surely did not happen."""

    fence: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """It was interrupted, and nobody knows."""

    fence: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Somebody looked, when ``seen_fence`` was the claim's latest and the effect ``is_running`` under it or not."""

    resolution: Resolution
    evidence: str = dataclasses.field(repr=False)
    by: Actor
    result: Document | None = dataclasses.field(default=None, repr=False)
    seen_fence: int
    is_running: bool


Command: TypeAlias = Start | Complete | Fail | Doubt | Resolve

_EVENTS_KEPT_FOR_OUTCOME: Final = 3


def decide(state: Effect | None, command: Command) -> tuple[Event, ...]:
    """Return the events that a command causes; none where the ledger has the outcome, or it runs under this fence.

    Raises:
        PauseMeshError: it is refused.
    """
    if isinstance(command, Start):
        return _decide_start(state, command)
    if state is None:
        raise ClaimNotFound("There is no effect with this key.")
    match command:
        case Complete():
            return _decide_outcome(state, command, Completed(fence=command.fence, result=command.result))
        case Fail():
            return _decide_outcome(state, command, Failed(fence=command.fence))
        case Doubt():
            return _decide_outcome(state, command, Doubted(fence=command.fence))
        case Resolve():
            return _decide_resolve(state, command)
        case _:
            assert_never(command)


def evolve(state: Effect | None, stamped: Stamped[Event]) -> Effect:
    """Apply an event that was stored."""
    event = stamped.event
    if isinstance(event, Started):
        return _started(state, stamped, event)
    if state is None:
        raise StoreCorrupt("An effect's stream does not begin with a start.")
    match event:
        case Completed():
            return _decided(state, stamped, EffectStatus.COMPLETED, result_document=event.result)
        case Failed():
            return _decided(state, stamped, EffectStatus.FAILED)
        case Doubted():
            return _decided(state, stamped, EffectStatus.UNKNOWN)
        case Resolved():
            done = event.resolution is Resolution.DONE
            status = EffectStatus.COMPLETED if done else EffectStatus.FAILED
            return _decided(
                state,
                stamped,
                status,
                result_document=event.result,
                evidence=event.evidence,
                resolved_by=event.by,
            )
        case _:
            assert_never(event)


def replay(stream: Iterable[Stamped[Event]]) -> Effect:
    """Return the state that a whole stream gives.

    Raises:
        StoreCorrupt: it is empty, does not begin with a start, or has a gap.
    """
    state: Effect | None = None
    for stamped in complete(stream):
        state = evolve(state, stamped)
    assert state is not None, "a whole stream has an event"
    return state


def effect_members(effect: Effect, embed: Callable[[Document], Any]) -> dict[str, Any]:
    """Return the members of an effect's JSON, in camelCase; ``embed`` says how its result appears among them."""
    result = effect.result_document
    optional = {
        "decidedAt": optional_time_to_text(effect.decided_at),
        "evidence": effect.evidence,
        "resolvedBy": actor_to_json(effect.resolved_by),
    }
    return {
        "key": effect.key,
        "kind": effect.kind,
        "status": effect.status.value,
        "fence": effect.fence,
        "worker": effect.worker,
        "attempts": effect.attempts,
        "startedAt": time_to_text(effect.started_at),
        **{name: value for name, value in optional.items() if value is not None},
        **({} if result is None else {"result": embed(result)}),
    }


def _decide_start(state: Effect | None, command: Start) -> tuple[Event, ...]:
    started = command.started
    if state is None:
        return (started,)
    if started.key != state.key:
        raise ActionMismatch("The approved action was started under another key.")
    if started.kind != state.kind or started.arguments.digest != state.arguments_digest:
        raise EffectConflict
    if state.status is EffectStatus.COMPLETED:
        return ()
    if state.status is EffectStatus.STARTED and state.fence == started.fence:
        return ()
    if state.status is not EffectStatus.FAILED:
        raise EffectUnknown
    if state.version + _EVENTS_KEPT_FOR_OUTCOME > limits.EVENTS_PER_STREAM:
        raise StreamTooLong(limit=limits.EVENTS_PER_STREAM)
    return (started,)


def _decide_outcome(
    state: Effect, command: Complete | Fail | Doubt, outcome: Completed | Failed | Doubted
) -> tuple[Event, ...]:
    if state.fence != command.fence:
        raise LeaseLost
    if state.status is EffectStatus.STARTED:
        return (outcome,)
    if isinstance(command, Complete):
        is_repeat = state.status is EffectStatus.COMPLETED and state.result_document == command.result
    else:
        wanted = EffectStatus.FAILED if isinstance(command, Fail) else EffectStatus.UNKNOWN
        is_repeat = state.status is wanted
    if is_repeat and state.resolved_by is None:
        return ()
    raise InvalidTransition("The effect has another outcome already.")


def _decide_resolve(state: Effect, command: Resolve) -> tuple[Event, ...]:
    resolved = Resolved(resolution=command.resolution, evidence=command.evidence, by=command.by, result=command.result)
    if state.status is EffectStatus.UNKNOWN:
        return (resolved,)
    if state.status is EffectStatus.STARTED:
        if state.fence > command.seen_fence or (state.fence == command.seen_fence and command.is_running):
            raise InvalidTransition("The effect is running.")
        return (resolved,)
    wanted = EffectStatus.COMPLETED if command.resolution is Resolution.DONE else EffectStatus.FAILED
    same = (state.status, state.evidence, state.result_document) == (wanted, command.evidence, command.result)
    if same and state.resolved_by == command.by:
        return ()
    raise InvalidTransition("The effect's outcome is known.")


def _started(state: Effect | None, stamped: Stamped[Event], event: Started) -> Effect:
    return Effect(
        key=event.key,
        kind=event.kind,
        arguments_digest=event.arguments.digest,
        status=EffectStatus.STARTED,
        version=stamped.version,
        fence=event.fence,
        worker=event.worker,
        attempts=1 if state is None else state.attempts + 1,
        started_at=stamped.at,
        attempt=event.attempt,
    )


def _decided(state: Effect, stamped: Stamped[Event], status: EffectStatus, **members: object) -> Effect:
    return dataclasses.replace(
        state,
        status=status,
        version=stamped.version,
        decided_at=stamped.at,
        **members,  # type: ignore[arg-type]
    )
