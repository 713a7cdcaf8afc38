"""Load, decide, append, and once more where somebody else was first: all that knows compare-and-swap."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import LeaseLost, PauseMeshError, StoreUnavailable
from pausemesh.core.stored_event import Stamped, read_stored_event, write_stored_event
from pausemesh.records import Appended, AuditRow, Due, Head, NewEvent, Reason, Recorded, Refused, Stream, Write
from pausemesh.service.nouns import Noun
from pausemesh.service.world import World

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[StateT, EventT]):
    """What to write. No events: the state as it is answers the caller, and nothing is written.

    ``head`` is what the stream is found by then, ``head_of`` tells it where it follows from the new state alone.
    ``also`` are compared or written in the same commit; ``go_on``: the events are not what the caller asked for, so
    that the new state is to be decided on again.
    """

    events: tuple[EventT, ...] = ()
    head: Head | None = None
    head_of: Callable[[StateT], Head] | None = None
    due: Due = Due.ANY
    token_hash: bytes | None = dataclasses.field(default=None, repr=False)
    also: tuple[Write, ...] = ()
    rows: tuple[AuditRow, ...] = ()
    go_on: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Generic[StateT]):
    """The state after the call; ``replayed``: it was so before."""

    state: StateT
    replayed: bool


class Guess(Generic[StateT]):
    """What the caller believes of a stream without having looked: that it is absent, or a state seen before."""

    def __init__(self, state: StateT | None) -> None:
        self.state = state


class Transactor:
    """Runs one decision on one stream until it is written, refused on fresh facts, or out of attempts."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def load(self, noun: Noun[StateT, EventT], noun_id: str) -> StateT | None:
        """Return the state of a stream, None where it does not exist."""
        stream = await self._world.store.load(self._world.scope, noun.stream_of(noun_id))
        return None if stream is None else self.replay(noun, stream)

    def replay(self, noun: Noun[StateT, EventT], stream: Stream) -> StateT:
        """Return the state that a loaded stream gives.

        Raises:
            StoreCorrupt: its events contradict each other or their place.
        """
        return noun.replay(self.stamped(noun, stream))

    def stamped(self, noun: Noun[StateT, EventT], stream: Stream) -> tuple[Stamped[EventT], ...]:
        """Return the events of a loaded stream."""
        noun_id = noun.id_of(stream.stream)
        return tuple(self.stamp(noun, noun_id, recorded) for recorded in stream.events)

    def stamp(self, noun: Noun[StateT, EventT], noun_id: str, recorded: Recorded) -> Stamped[EventT]:
        """Return a stored event."""
        members = read_stored_event(self.unsealed(recorded), noun_id, recorded.version)
        event = noun.read_event(recorded.type, noun_id, members)
        return Stamped(event=event, version=recorded.version, at=recorded.at, id=recorded.id)

    def unsealed(self, recorded: Recorded) -> bytes:
        """Return the bytes of a stored event as they were written, before any cipher."""
        if self._world.cipher is None:
            return recorded.data
        return self._world.cipher.unseal(recorded.data, _context(recorded.scope, recorded.stream, recorded.version))

    async def run(
        self,
        noun: Noun[StateT, EventT],
        noun_id: str,
        decide: Callable[[StateT | None, datetime], Step[StateT, EventT]],
        *,
        guess: Guess[StateT] | None = None,
        hint: datetime | None = None,
    ) -> Settled[StateT]:
        """Decide and append, on ``guess`` first where there is one; a guess alone refuses nobody.

        ``hint`` is the time of the first try, where the caller knows better than this machine's clock.

        Raises:
            PauseMeshError: whatever ``decide`` raises on the stored state, and what the store raises.
        """
        now, fresh = hint or self._world.clock.now(), guess is None
        state = None if guess is None else guess.state
        if guess is None:
            state = await self.load(noun, noun_id)
        for _ in range(limits.APPEND_ATTEMPTS):
            try:
                step = decide(state, now)
            except PauseMeshError:
                if fresh:
                    raise
                state, fresh = await self.load(noun, noun_id), True
                continue
            if not step.events and not fresh:
                state, fresh = await self.load(noun, noun_id), True
                continue
            if not step.events:
                assert state is not None, "a step without events answers with a state"
                return Settled(state=state, replayed=True)
            result, reached = await self._append(noun, noun_id, state, step, now)
            if isinstance(result, Appended):
                if not step.go_on:
                    return Settled(state=reached, replayed=False)
                state, now = reached, result.at
                continue
            state, fresh, now = await self.load(noun, noun_id), True, result.at
            if Reason.FENCE in result.reasons and decide(state, now).events:
                raise LeaseLost  # unless this very call ended the lease: then its event is there, and answers it
        raise StoreUnavailable("Too many others were first; nothing was written.")

    async def _append(
        self,
        noun: Noun[StateT, EventT],
        noun_id: str,
        state: StateT | None,
        step: Step[StateT, EventT],
        now: datetime,
    ) -> tuple[Appended | Refused, StateT]:
        base = 0 if state is None else noun.version_of(state)
        numbered = [
            (event, version, self._world.ids.event_id()) for version, event in enumerate(step.events, start=base + 1)
        ]
        write = Write(
            scope=self._world.scope,
            stream=noun.stream_of(noun_id),
            expected_version=base,
            head=step.head or _head_of(noun, state, step, _stamped(numbered, now)),
            events=tuple([self._new_event(noun, noun_id, one) for one in numbered]),
            token_hash=step.token_hash,
            due=step.due,
            rows=step.rows,
        )
        result = await self._world.store.append(write, *step.also)
        return result, _evolved(noun, state, _stamped(numbered, result.at))

    def _new_event(self, noun: Noun[StateT, EventT], noun_id: str, numbered: tuple[EventT, int, UUID]) -> NewEvent:
        event, version, event_id = numbered
        data = write_stored_event(noun_id, version, noun.event_members(event))
        if self._world.cipher is not None:
            context = _context(self._world.scope, noun.stream_of(noun_id), version)
            data = self._world.cipher.seal(data, context)
        return NewEvent(id=event_id, type=noun.event_type(event), data=data)


def _stamped(numbered: Sequence[tuple[EventT, int, UUID]], at: datetime) -> list[Stamped[EventT]]:
    return [Stamped(event=event, version=version, at=at, id=event_id) for event, version, event_id in numbered]


def _head_of(
    noun: Noun[StateT, EventT],
    state: StateT | None,
    step: Step[StateT, EventT],
    stamped: Sequence[Stamped[EventT]],
) -> Head:
    assert step.head_of is not None, "a step with events has a head"
    return step.head_of(_evolved(noun, state, stamped))


def _evolved(noun: Noun[StateT, EventT], state: StateT | None, stamped: Sequence[Stamped[EventT]]) -> StateT:
    for one in stamped:
        state = noun.evolve(state, one)
    assert state is not None, "a step has at least one event"
    return state


def _context(scope: str, stream: str, version: int) -> bytes:
    return f"{scope}\n{stream}\n{version}".encode()
