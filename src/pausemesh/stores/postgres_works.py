"""What a flush can do: each kind of call, as it is queued."""

import dataclasses
import enum
from datetime import timedelta
from typing import TypeAlias

from pausemesh.records import Restoring, Write


class Change(enum.IntEnum):
    """What becomes of a claim; the numbers are those of the function ``change_claims``."""

    TAKE = 1
    TAKE_NEXT = 2
    RENEW = 3
    RELEASE = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Append:
    """Writes that are stored all or not at all."""

    writes: tuple[Write, ...]

    @property
    def weight(self) -> int:
        """Return how many writes it counts for."""
        return len(self.writes)

    @property
    def is_repeatable(self) -> bool:
        """Tell whether twice is as once; a finish without events would find itself refused."""
        return any(write.events for write in self.writes) or not any(write.finish for write in self.writes)

    @property
    def streams(self) -> frozenset[tuple[str, str]]:
        """Return the names of the streams, each of which a flush may write once."""
        return frozenset([(write.scope, write.stream) for write in self.writes])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChange:
    """A change of a claim; ``name`` is a stream's, or a queue's where the next one is taken."""

    change: Change
    scope: str
    name: str
    worker: str = ""
    fence: int = 0
    lease: timedelta = timedelta(0)

    @property
    def weight(self) -> int:
        """Return how many writes it counts for."""
        return 1

    @property
    def is_repeatable(self) -> bool:
        """Tell whether twice is as once: who took a claim would find it held."""
        return self.change is Change.RENEW


@dataclasses.dataclass(frozen=True, slots=True)
class Beats:
    """Streams of one scope that beat."""

    scope: str
    streams: tuple[str, ...]

    @property
    def weight(self) -> int:
        """Return how many writes it counts for."""
        return len(self.streams)

    @property
    def is_repeatable(self) -> bool:
        """Tell whether twice is as once."""
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class Restore:
    """Heads that are written anew; it has a transaction of its own."""

    restorings: tuple[Restoring, ...]

    @property
    def weight(self) -> int:
        """Return how many writes it counts for."""
        return len(self.restorings)

    @property
    def is_repeatable(self) -> bool:
        """Tell whether twice is as once: the second time, another head is stored than was seen."""
        return False


Work: TypeAlias = Append | ClaimChange | Beats | Restore
