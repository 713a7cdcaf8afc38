"""Many lives, many images of each, and the same with a disk that is not asked to sync, which must be caught."""

import asyncio
import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, assert_never

from proofs.children import Line, in_lanes
from proofs.images.check import Promised, look
from proofs.images.disk import Deleted, Disk, Synced, Truncated, Written
from proofs.images.life import Acknowledged, Claimed, Life, live
from proofs.places import folder_in_memory
from proofs.report import NONE, SOME, Report, exactly

_IMAGES_PER_LIFE: Final = 100


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many images, and how many of the control."""

    rounds: int
    relaxed: int


QUICK: Final = Size(rounds=20_000, relaxed=1_000)
SHORT: Final = Size(rounds=1_000, relaxed=100)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Cut the power at random points of recorded lives."""
    report = Report("images", seed)
    counted = _all_images(report, size.rounds, lanes, relaxed=False)
    promise = "what is acknowledged survives a power cut"
    report.count(promise, size.rounds, "images opened", counted["images"], exactly(size.rounds))
    report.count(promise, size.rounds, "images in which something unsynced was lost", counted["forgetful"], SOME)
    report.count(promise, size.rounds, "acknowledged calls looked up", counted["acknowledged"], SOME)
    report.count(promise, size.rounds, "images that lost an acknowledged call", counted["lost"], NONE)
    report.count("a file is whole after a power cut", size.rounds, "images that are not whole", counted["flawed"], NONE)
    control = _all_images(report, size.relaxed, lanes, relaxed=True)
    report.count(
        "control: synchronous=NORMAL", size.relaxed, "images that lost an acknowledged call", control["lost"], SOME
    )
    report.count("control: synchronous=NORMAL", size.relaxed, "images that are not whole", control["flawed"], NONE)
    return report


def _all_images(report: Report, images: int, lanes: int, *, relaxed: bool) -> Counter[str]:
    share = [len(range(lane, images, lanes)) for lane in range(lanes)]
    found = in_lanes(lambda lane: _images_of_a_lane(share[lane], f"{report.seed}-{lane}", relaxed=relaxed), lanes)
    counted: Counter[str] = Counter()
    for line in found:
        report.fail(line.pop("messages"))
        counted.update(line)
    return counted


def _images_of_a_lane(images: int, name: str, *, relaxed: bool) -> Line:
    counted: Counter[str] = Counter()
    messages: list[str] = []
    for number, first in enumerate(range(0, images, _IMAGES_PER_LIFE)):
        life_name = f"{name}-{number}"
        wanted = min(_IMAGES_PER_LIFE, images - first)
        messages += asyncio.run(_cut_a_life(life_name, wanted, counted, relaxed=relaxed))
    return {**counted, "messages": messages[:20]}


async def _cut_a_life(name: str, images: int, counted: Counter[str], *, relaxed: bool) -> list[str]:
    choices = random.Random(name)
    messages: list[str] = []
    with folder_in_memory() as folder:
        life = await live(Path(folder), choices, relaxed=relaxed)
    for point, disk, promised in _cuts(life, images, choices):
        files, forgetful = disk.files_after_a_cut(choices)
        with folder_in_memory() as folder:
            for file, content in files.items():
                (Path(folder) / file).write_bytes(content)
            found = await look(Path(folder) / "mesh.db", promised, choices)
        counted["images"] += 1
        counted["forgetful"] += forgetful
        counted["acknowledged"] += len(promised.acknowledged)
        counted["lost"] += bool(found.lost)
        counted["flawed"] += bool(found.flaws)
        told = found.flaws if relaxed else [*found.lost, *found.flaws]
        messages += [f"life {name}, cut at {point} of {len(life.marks)}: {message}" for message in told]
    return messages


def _cuts(life: Life, images: int, choices: random.Random) -> Iterator[tuple[int, Disk, Promised]]:
    """Yield so many random points, each with the disk and the promises as they were there."""
    disk, acknowledged, claims = Disk(), list[int](), list[Claimed]()
    points = sorted(choices.randrange(len(life.marks) + 1) for _ in range(images))
    position = 0
    for point in points:
        for mark in life.marks[position:point]:
            match mark:
                case Acknowledged(call=call):
                    acknowledged.append(call)
                case Claimed():
                    claims.append(mark)
                case Written() | Truncated() | Deleted() | Synced():
                    disk.take(mark)
                case _:
                    assert_never(mark)
        position = point
        yield point, disk, Promised(life.calls, acknowledged, claims)
