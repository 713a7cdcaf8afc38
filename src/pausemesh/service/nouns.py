"""How each noun with a life meets the log: the name of its streams, its events, its head."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from pausemesh.core import api_key, claim, continuation, continuation_events, effect, effect_events
from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.stored_event import Members, Stamped
from pausemesh.core.values import JsonValue
from pausemesh.records import Due, Head

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Noun(Generic[StateT, EventT]):
    """What ``transact`` needs to know of a noun; all of it pure."""

    name: str
    event_type: Callable[[EventT], str]
    event_members: Callable[[EventT], Members]
    read_event: Callable[[str, str, Mapping[str, JsonValue]], EventT]
    evolve: Callable[[StateT | None, Stamped[EventT]], StateT]
    replay: Callable[[Iterable[Stamped[EventT]]], StateT]
    version_of: Callable[[StateT], int]

    def stream_of(self, noun_id: str) -> str:
        """Return the stream's name; ids of ours have no slash, so names of two nouns never meet."""
        return f"{self.name}/{noun_id}"

    def id_of(self, stream: str) -> str:
        """Return the id again."""
        return stream.removeprefix(f"{self.name}/")


CONTINUATIONS: Final[Noun[continuation.State, continuation_events.Event]] = Noun(
    name="continuation",
    event_type=continuation_events.event_type,
    event_members=continuation_events.event_members,
    read_event=continuation_events.read_event,
    evolve=continuation.evolve,
    replay=continuation.replay,
    version_of=lambda state: state.continuation.version,
)

CLAIMS: Final[Noun[claim.Claim, claim.Event]] = Noun(
    name="claim",
    event_type=claim.event_type,
    event_members=claim.event_members,
    read_event=claim.read_event,
    evolve=claim.evolve,
    replay=claim.replay,
    version_of=lambda state: state.version,
)

EFFECTS: Final[Noun[effect.Effect, effect_events.Event]] = Noun(
    name="effect",
    event_type=effect_events.event_type,
    event_members=effect_events.event_members,
    read_event=effect_events.read_event,
    evolve=effect.evolve,
    replay=effect.replay,
    version_of=lambda state: state.version,
)

KEYS: Final[Noun[api_key.ApiKey, api_key.Event]] = Noun(
    name="key",
    event_type=api_key.event_type,
    event_members=api_key.event_members,
    read_event=api_key.read_event,
    evolve=api_key.evolve,
    replay=api_key.replay,
    version_of=lambda state: state.version,
)

KEYS_SCOPE: Final = ".keys"
"""Where the keys of all scopes are; no id of ours begins with a full stop, so that nothing else ever is."""

KEYS_CORRELATION: Final = "keys"


def continuation_head(state: continuation.State) -> Head:
    """Return what a continuation is found by; the token's hash stays after its use, for honest retries."""
    asked = state.continuation
    return _continuation_head(asked.status, asked, state.token_hash)


def continuation_head_after(state: continuation.State | None, event: continuation_events.Event) -> Head:
    """Return what a continuation is found by after one more event; the state of then needs the time of its commit."""
    if isinstance(event, continuation_events.Created):
        return _continuation_head(Status.PENDING, event, event.token_hash)
    assert state is not None, "a stream begins with its creation"
    token_hash = event.token_hash if isinstance(event, continuation_events.TokenReissued) else state.token_hash
    return _continuation_head(continuation.STATUS_AFTER[type(event)], state.continuation, token_hash)


def _continuation_head(
    status: Status, asked: Continuation | continuation_events.Created, token_hash: bytes | None
) -> Head:
    pending = status is Status.PENDING
    return Head(
        kind=CONTINUATIONS.name,
        status=status.value,
        open=pending,
        correlation=asked.correlation_id,
        owner=asked.owner,
        queue=asked.queue if pending or status is Status.RESUMED else None,
        token_hash=token_hash,
        due_at=asked.expires_at if pending else None,
    )


def claim_head(state: claim.Claim, envelope: Continuation) -> Head:
    """Return what a claim is found by."""
    return Head(
        kind=CLAIMS.name,
        status="failed" if state.finished is None else "done",
        open=False,
        correlation=envelope.correlation_id,
        owner=f"{CONTINUATIONS.name}:{envelope.id}",
    )


def effect_head(state: effect.Effect, envelope: Continuation) -> Head:
    """Return what an effect is found by; one without an outcome is on the list of open ones."""
    unsettled = state.status in {effect.EffectStatus.STARTED, effect.EffectStatus.UNKNOWN}
    return Head(
        kind=EFFECTS.name,
        status=state.status.value,
        open=unsettled,
        correlation=envelope.correlation_id,
        owner=f"{CONTINUATIONS.name}:{envelope.id}",
    )


def key_head(state: api_key.ApiKey) -> Head:
    """Return what a key is found by; all keys have one correlation, so that one look-up tells whether any exists."""
    active = state.revoked_at is None
    return Head(kind=KEYS.name, status="active" if active else "revoked", open=active, correlation=KEYS_CORRELATION)


def due_of(event: continuation_events.Event) -> Due:
    """Return what an event after the creation needs of the deadline: an expiry that it passed, any other not yet."""
    return Due.PASSED if isinstance(event, continuation_events.Expired) else Due.AHEAD
