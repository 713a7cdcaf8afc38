"""A moment in a file's life: what the disk holds by then, and what callers were told."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from pausemesh.records import Write
from proofs.images.disk import Deleted, Disk, Synced, Truncated, Written
from proofs.images.life import Acknowledged, Begun, Claimed, Life, Mark


class Moment:
    """Where a life is.

    Attributes:
        calls: all that are made in it, by number.
        disk: as it is.
        unanswered: the numbers of the calls that were made and of which nobody has heard yet.
        acknowledged: those of the calls that were said to be done.
        claims: that somebody was told to hold.
    """

    def __init__(self, calls: Sequence[tuple[Write, ...]]) -> None:
        self.calls = calls
        self.disk = Disk()
        self.unanswered: set[int] = set()
        self.acknowledged: list[int] = []
        self.claims: list[Claimed] = []

    def copy(self, calls: Sequence[tuple[Write, ...]]) -> "Moment":
        """Return the same moment, from which a life with other calls goes on."""
        other = Moment(calls)
        other.disk = self.disk.copy()
        other.unanswered = set(self.unanswered)
        other.acknowledged = list(self.acknowledged)
        other.claims = list(self.claims)
        return other

    def pass_on(self, mark: Mark) -> None:
        """Let the next thing happen."""
        match mark:
            case Begun(call=call):
                self.unanswered.add(call)
            case Acknowledged(call=call):
                self.unanswered.remove(call)
                self.acknowledged.append(call)
            case Claimed():
                self.claims.append(mark)
            case Written() | Truncated() | Deleted() | Synced():
                self.disk.take(mark)
            case _:
                assert_never(mark)


def moments(life: Life, start: Moment, points: Iterable[int]) -> Iterator[tuple[int, Moment]]:
    """Yield moments of a life, given as how many marks have passed by then; ``start`` is carried along."""
    position = 0
    for point in sorted(points):
        for mark in life.marks[position:point]:
            start.pass_on(mark)
        position = point
        yield point, start


def anywhere(life: Life, count: int, choices: random.Random) -> list[int]:
    """Return so many random points."""
    return [choices.randrange(len(life.marks) + 1) for _ in range(count)]


def rather_early(life: Life, count: int, choices: random.Random) -> list[int]:
    """Return so many random points, more of them near the beginning."""
    return [int(choices.random() ** 2 * len(life.marks)) for _ in range(count)]


def before_syncs(life: Life, count: int, choices: random.Random) -> list[int]:
    """Return so many random points at which all was written and not yet synced."""
    syncs = [point for point, mark in enumerate(life.marks) if isinstance(mark, Synced)]
    return choices.choices(syncs, k=count)
