"""Given these events, when this command comes, then those events follow, or this refusal."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar
from uuid import UUID

from pausemesh.core.errors import PauseMeshError
from pausemesh.core.stored_event import Stamped

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")
CommandT = TypeVar("CommandT")
ErrorT = TypeVar("ErrorT", bound=PauseMeshError)

START: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""When the first event of a scenario was stored; each later one a second later."""


class Scenario(Generic[StateT, CommandT, EventT]):
    """A noun's life so far; the time of its next command is a second after the last event, or as told."""

    def __init__(
        self,
        decide: Callable[[StateT | None, CommandT, datetime], tuple[EventT, ...]],
        evolve: Callable[[StateT | None, Stamped[EventT]], StateT],
        *events: EventT,
    ) -> None:
        self._decide = decide
        self._evolve = evolve
        self.stamped = stamp(events)
        self.now = START + timedelta(seconds=len(events))

    @property
    def state(self) -> StateT | None:
        """What the events give."""
        state: StateT | None = None
        for stamped in self.stamped:
            state = self._evolve(state, stamped)
        return state

    def at(self, now: datetime) -> "Scenario[StateT, CommandT, EventT]":
        """Let the next command come at this time."""
        self.now = now
        return self

    def when(self, command: CommandT) -> tuple[EventT, ...]:
        """Return the events that the command causes."""
        return self._decide(self.state, command, self.now)

    def refused(self, command: CommandT, error: type[ErrorT]) -> ErrorT:
        """Return the refusal, which must be of exactly this type."""
        try:
            events = self.when(command)
        except PauseMeshError as refusal:
            if type(refusal) is not error:
                raise
            return refusal
        message = f"expected {error.__name__}, got {len(events)} events"
        raise AssertionError(message)


def stamp(events: Iterable[EventT]) -> tuple[Stamped[EventT], ...]:
    """Return events as a store would give them back, a second apart from ``START``."""
    return tuple(
        Stamped(event=event, version=version, at=START + timedelta(seconds=version - 1), id=UUID(int=version))
        for version, event in enumerate(events, start=1)
    )
