"""What a measurement gives, and how large it is."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; ``spread`` is the least and the greatest of its rounds."""

    name: str
    value: float
    unit: str
    goal: str | None = None
    met: bool | None = None
    spread: tuple[float, float] | None = None

    @property
    def shown(self) -> str:
        """The value as people read it."""
        number = f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.2f}"
        if self.spread is None:
            return f"{number} {self.unit}"
        least, most = (f"{one:,.0f}" if abs(one) >= 100 else f"{one:.2f}" for one in self.spread)
        return f"{number} {self.unit} ({least} to {most})"

    def as_json(self) -> dict[str, object]:
        """Return the line as it is kept."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is done; the short sizes only show that everything runs."""

    rounds: int
    callers: tuple[int, ...]
    seconds_per_try: float
    few_pending: int
    many_pending: int
    probes: int
    imports: int
    connections: tuple[int, ...]
    rounds_over_http: int
    seconds_over_http: float
    polls: int
    seconds_idle: float
    wakes: int
    claimed: int
    claimed_by_peers: int

    def as_json(self) -> dict[str, object]:
        """Return the sizes as they are kept."""
        return dataclasses.asdict(self)


FULL: Final = Sizes(
    rounds=3,
    callers=(1, 8, 32, 256),
    seconds_per_try=1.2,
    few_pending=10_000,
    many_pending=1_000_000,
    probes=300,
    imports=15,
    connections=(1, 8, 64),
    rounds_over_http=5,
    seconds_over_http=1.5,
    polls=10_000,
    seconds_idle=5.0,
    wakes=100,
    claimed=100_000,
    claimed_by_peers=100,
)
SHORT: Final = Sizes(
    rounds=2,
    callers=(1, 8),
    seconds_per_try=0.1,
    few_pending=200,
    many_pending=1_000,
    probes=10,
    imports=2,
    connections=(1, 8),
    rounds_over_http=2,
    seconds_over_http=0.2,
    polls=50,
    seconds_idle=0.2,
    wakes=5,
    claimed=200,
    claimed_by_peers=5,
)


def of_rounds(name: str, values: Sequence[float], unit: str) -> Row:
    """Return the median of some rounds as a line."""
    return Row(name=name, value=statistics.median(values), unit=unit, spread=(min(values), max(values)))


def at_least(row: Row, goal: float) -> Row:
    """Hold a line to a least value."""
    return dataclasses.replace(row, goal=f">= {goal:g}", met=row.value >= goal)


def at_most(row: Row, goal: float) -> Row:
    """Hold a line to a greatest value."""
    return dataclasses.replace(row, goal=f"<= {goal:g}", met=row.value <= goal)
