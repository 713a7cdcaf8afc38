"""What a proof found: counts with what was expected of them, and failures that name their seed."""

import dataclasses
from collections.abc import Iterable
from typing import Final

_FAILURES_KEPT: Final = 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """From how few to how many; ``most`` None: any number."""

    least: int
    most: int | None

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least:,} or more" if self.least else "any"
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"

    def admits(self, measured: int) -> bool:
        """Tell whether a number is as expected."""
        return self.least <= measured and (self.most is None or measured <= self.most)


def exactly(number: int) -> Expected:
    """Expect this very number."""
    return Expected(least=number, most=number)


def at_least(number: int) -> Expected:
    """Expect this number or more."""
    return Expected(least=number, most=None)


NONE: Final = exactly(0)
SOME: Final = at_least(1)
ANY: Final = at_least(0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A row of the table."""

    promise: str
    rounds: int
    counted: str
    expected: Expected
    measured: int

    @property
    def ok(self) -> bool:
        """Whether it is as expected."""
        return self.expected.admits(self.measured)


class Report:
    """Collects what one proof counts.

    Attributes:
        proof: its name.
        seed: of all its random choices.
        counts: the rows so far.
        failures: the first messages about what should not be; each names the seed.
    """

    def __init__(self, proof: str, seed: int) -> None:
        self.proof = proof
        self.seed = seed
        self.counts: list[Count] = []
        self.failures: list[str] = []

    @property
    def ok(self) -> bool:
        """Whether all is as expected."""
        return not self.failures and all(count.ok for count in self.counts)

    def fail(self, messages: Iterable[str]) -> None:
        """Keep what should not be; of very many only the first."""
        for message in messages:
            if len(self.failures) < _FAILURES_KEPT:
                self.failures.append(f"{self.proof}, seed {self.seed}: {message}")

    def count(self, promise: str, rounds: int, counted: str, measured: int, expected: Expected) -> None:
        """Add a row, and a failure where it is not as expected."""
        row = Count(promise=promise, rounds=rounds, counted=counted, expected=expected, measured=measured)
        self.counts.append(row)
        if not row.ok:
            self.fail([f"{counted}: expected {expected}, measured {measured:,}"])
