"""Many lives, many images of each, and the same with a disk that is not asked to sync, which must be caught."""

import asyncio
import dataclasses
import random
from collections import Counter
from pathlib import Path
from typing import Final

import apsw

from proofs.children import Line, in_lanes
from proofs.images.check import look
from proofs.images.life import FILE, Life, live, live_on
from proofs.images.moment import Moment, anywhere, before_syncs, moments, rather_early
from proofs.images.recording import CarelessConnection, RelaxedConnection
from proofs.places import folder_in_memory
from proofs.report import NONE, SOME, Report, exactly

_IMAGES_PER_LIFE: Final = 100
_IMAGES_PER_KILL: Final = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many images of power cuts, how many where a kill came first, and how many of each control."""

    rounds: int
    after_kills: int
    controls: int


QUICK: Final = Size(rounds=20_000, after_kills=2_000, controls=1_000)
SHORT: Final = Size(rounds=1_000, after_kills=100, controls=200)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How images come about: by a power cut, at once or when a successor of a killed process is at work."""

    name: str
    killed_first: bool
    connection: type[apsw.Connection] = apsw.Connection

    @property
    def is_control(self) -> bool:
        """Whether something is broken on purpose, so that losses are wanted."""
        return self.connection is not apsw.Connection


CUT: Final = Way(name="a power cut", killed_first=False)
KILL: Final = Way(name="a kill and a power cut", killed_first=True)
CONTROLS: Final = (
    Way(name="control: synchronous=NORMAL", killed_first=False, connection=RelaxedConnection),
    Way(name="control: a successor that does not sync", killed_first=True, connection=CarelessConnection),
)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Cut the power at random points of recorded lives."""
    report = Report("images", seed)
    for way, rounds in ((CUT, size.rounds), (KILL, size.after_kills)):
        counted = _all_images(report, way, rounds, lanes)
        promise = f"what is acknowledged survives {way.name}"
        report.count(promise, rounds, "images opened", counted["images"], exactly(rounds))
        report.count(promise, rounds, "images that lack something unsynced", counted["forgetful"], SOME)
        report.count(promise, rounds, "acknowledged calls looked up", counted["acknowledged"], SOME)
        report.count(promise, rounds, "images that lost an acknowledged call", counted["lost"], NONE)
        report.count(promise, rounds, "images that are not whole", counted["flawed"], NONE)
    for way in CONTROLS:
        counted = _all_images(report, way, size.controls, lanes)
        report.count(way.name, size.controls, "images that lost an acknowledged call", counted["lost"], SOME)
        report.count(way.name, size.controls, "images that are not whole", counted["flawed"], NONE)
    return report


def _all_images(report: Report, way: Way, images: int, lanes: int) -> Counter[str]:
    share = [len(range(lane, images, lanes)) for lane in range(lanes)]
    found = in_lanes(lambda lane: _Lane(f"{report.seed}, {way.name}, lane {lane}", way).make(share[lane]), lanes)
    counted: Counter[str] = Counter()
    for line in found:
        report.fail(line.pop("messages"))
        counted.update(line)
    return counted


class _Lane:
    """One lane's images.

    Args:
        name: seeds what is random.
        way: how they come about.
    """

    def __init__(self, name: str, way: Way) -> None:
        self._name = name
        self._way = way
        self._counted: Counter[str] = Counter()
        self._messages: list[str] = []

    def make(self, images: int) -> Line:
        for first in range(0, images, _IMAGES_PER_LIFE):
            name = f"{self._name}, from {first}"
            asyncio.run(self._cut_a_life(name, min(_IMAGES_PER_LIFE, images - first)))
        return {**self._counted, "messages": self._messages}

    async def _cut_a_life(self, name: str, images: int) -> None:
        choices = random.Random(name)
        with folder_in_memory() as folder:
            life = await live(Path(folder), choices, self._way.connection)
        start = Moment(life.calls)
        if not self._way.killed_first:
            await self._cut(name, life, start, anywhere(life, images, choices), choices)
            return
        for point, moment in moments(life, start, before_syncs(life, -(-images // _IMAGES_PER_KILL), choices)):
            wanted = min(_IMAGES_PER_KILL, images)
            images -= wanted
            successor = await _successor(moment, choices, self._way.connection)
            again, points = moment.copy(successor.calls), rather_early(successor, wanted, choices)
            await self._cut(f"{name}, killed at {point}", successor, again, points, choices)

    async def _cut(self, name: str, life: Life, start: Moment, points: list[int], choices: random.Random) -> None:
        for point, moment in moments(life, start, points):
            files, forgetful = moment.disk.files_after_a_cut(choices)
            with folder_in_memory() as folder:
                _put(files, Path(folder))
                found = await look(Path(folder) / FILE, moment, choices)
            self._counted["images"] += 1
            self._counted["forgetful"] += forgetful
            self._counted["acknowledged"] += len(moment.acknowledged)
            self._counted["lost"] += bool(found.lost)
            self._counted["flawed"] += bool(found.flaws)
            told = found.flaws if self._way.is_control else [*found.lost, *found.flaws]
            self._messages += [f"life {name}, cut at {point} of {len(life.marks)}: {message}" for message in told]


async def _successor(moment: Moment, choices: random.Random, connection: type[apsw.Connection]) -> Life:
    """Go on with the file as it is right after a kill, when nothing that was handed over is lost yet."""
    with folder_in_memory() as folder:
        _put(moment.disk.files_now(), Path(folder))
        return await live_on(Path(folder), moment.calls, sorted(moment.unanswered), choices, connection)


def _put(files: dict[str, bytes], folder: Path) -> None:
    for file, content in files.items():
        (folder / file).write_bytes(content)
