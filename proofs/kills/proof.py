"""Rounds of kills: a file lives for a few rounds, a process works on it in each, is killed, and all is looked at."""

import asyncio
import dataclasses
import functools
import random
import time
import traceback
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import Mesh, PauseMeshError, SqliteEventStore
from pausemesh.records import CrashPoint
from pausemesh.testing.faults import CrashAt
from proofs.children import ChildError, Family, Line, heard, in_lanes
from proofs.clocks import AheadClock
from proofs.kills.afterwards import Runs, leftovers, retry_twice, settle
from proofs.kills.check import compare, marks_of
from proofs.kills.hasty import HastyStore
from proofs.kills.told import Told
from proofs.kills.victim import Job, work
from proofs.places import folder_on_disk
from proofs.report import NONE, SOME, Report, exactly
from proofs.stored_file import StoredFile

_ROUNDS_PER_FILE: Final = 5
_SECONDS_BEFORE_KILL: Final = 0.15
_SECONDS_TO_REACH_A_POINT: Final = 30.0
_LATER: Final = timedelta(hours=1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many kills at random instants, how many at each named point, and how many in the control."""

    rounds: int
    rounds_at_points: int
    control: int


QUICK: Final = Size(rounds=1_000, rounds_at_points=20, control=20)
SHORT: Final = Size(rounds=30, rounds_at_points=1, control=4)


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """One kill: at a random instant, or at a point after it was passed so often.

    Attributes:
        store: the kind of store that the victim uses.
    """

    name: str
    point: CrashPoint | None = None
    after: int = 0
    store: type[SqliteEventStore] = SqliteEventStore

    @property
    def is_control(self) -> bool:
        """Whether the store is broken on purpose."""
        return self.store is not SqliteEventStore

    def job(self) -> Job:
        """Return what the victim does."""
        fault = None if self.point is None else CrashAt(self.point, after=self.after)
        return Job(name=self.name, fault=fault, store=self.store)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Kill, look, and kill again."""
    report = Report("kills", seed)
    plan = _plan(size, seed)
    found = in_lanes(lambda lane: _rounds_of_a_lane(plan[lane::lanes]), lanes)
    counted: Counter[str] = Counter()
    for line in found:
        report.fail(line.pop("messages"))
        counted.update(line)
    _count(report, size, counted)
    return report


def _plan(size: Size, seed: int) -> list[list[Round]]:
    """Return the rounds by the file that they share; a point is best met by a process of its own kind."""
    at_random = [Round(f"{seed}-{number}") for number in range(size.rounds)]
    files = [at_random[first : first + _ROUNDS_PER_FILE] for first in range(0, size.rounds, _ROUNDS_PER_FILE)]
    for point in CrashPoint:
        for number in range(size.rounds_at_points):
            name = f"{seed}-{point}-{number}"
            files.append([Round(name, point, random.Random(name).randrange(8))])
    controls = [Round(f"{seed}-control-{number}", store=HastyStore) for number in range(size.control)]
    return files + [[control] for control in controls]


def _count(report: Report, size: Size, counted: Counter[str]) -> None:
    rounds = size.rounds + size.rounds_at_points * len(CrashPoint)
    promise = "what is acknowledged survives kill -9"
    report.count(promise, rounds, "processes killed", counted["killed"], exactly(rounds))
    report.count(promise, rounds, "calls acknowledged", counted["acknowledged"], SOME)
    report.count(promise, rounds, "acknowledged and lost", counted["lost"], NONE)
    report.count(promise, rounds, "calls refused", counted["refused"], SOME)
    report.count(promise, rounds, "stored though refused or never asked for", counted["unasked"], NONE)
    report.count("unanswered is whole or nothing", rounds, "calls unanswered", counted["unanswered"], SOME)
    report.count("unanswered is whole or nothing", rounds, "of these had committed", counted["committed"], SOME)
    report.count("unanswered is whole or nothing", rounds, "files that are not whole", counted["not whole"], NONE)
    report.count("a retry finds one outcome", rounds, "retries that did not", counted["retries astray"], NONE)
    report.count("nothing stays stuck", rounds, "rounds with something stuck", counted["stuck"], NONE)
    name = "control: a store that answers before it writes"
    report.count(name, size.control, "acknowledged and lost", counted["lost by the control"], SOME)


def _rounds_of_a_lane(files: list[list[Round]]) -> Line:
    counted: Counter[str] = Counter()
    messages: list[str] = []
    for rounds in files:
        with folder_on_disk() as folder:
            file = VictimsFile(Path(folder) / "mesh.db", counted)
            for one in rounds:
                told = Told(_said_until_killed(one, file.path))
                if one.is_control:
                    counted["lost by the control"] += len(compare(told, StoredFile(file.path), before=set()).lost)
                    continue
                flaws = asyncio.run(file.look(told))
                messages += [f"round {one.name}: {flaw}" for flaw in flaws]
    return {**counted, "messages": messages}


def _said_until_killed(one: Round, path: Path) -> list[Line]:
    """Let a process work on the file, kill it, and return what it had said."""
    choices = random.Random(one.name)
    is_new = not path.exists()
    said: list[Line] = []
    with Family() as family:
        victim = family.fork(one.name, functools.partial(work, path=path, job=one.job()))
        if one.is_control or (one.point is None and not is_new):
            said += [line for _, line in heard([victim])]
        limit = _SECONDS_TO_REACH_A_POINT if one.point else choices.uniform(0, _SECONDS_BEFORE_KILL)
        deadline = time.monotonic() + limit
        while not victim.ended and (left := deadline - time.monotonic()) > 0:
            said += [line for _, line in heard([victim], left)]
        if one.point is not None and not victim.ended:
            raise ChildError(f"{one.name} was not passed within {limit:g} s")
        said += victim.kill()
    return said


class VictimsFile:
    """A file on which one process after the other is killed.

    Args:
        path: of the file.
        counted: what is counted over all files.
    """

    def __init__(self, path: Path, counted: Counter[str]) -> None:
        self.path = path
        self._counted = counted
        self._runs: Runs = Counter()
        self._marks: set[str] = set()

    async def look(self, told: Told) -> list[str]:
        """Compare the file with what a process had said, settle what it left, and return what is wrong."""
        self._runs.update(told.runs)
        clock = AheadClock()
        store = await SqliteEventStore.open(self.path, clock)
        try:
            async with pausemesh.open(store, clock=clock) as mesh:
                flaws = self._compare(told)
                flaws += await self._retry(mesh, told)
                clock.ahead = _LATER
                flaws += await self._settle(mesh)
        finally:
            await store.close()
        return flaws

    def _compare(self, told: Told) -> list[str]:
        stored = StoredFile(self.path)
        self._compared = compared = compare(told, stored, before=self._marks)
        whole = stored.flaws()
        self._counted["killed"] += 1
        self._counted["acknowledged"] += len(told.acknowledged)
        self._counted["refused"] += len(told.refused)
        self._counted["unanswered"] += len(told.unanswered)
        self._counted["committed"] += len(compared.committed)
        self._counted["lost"] += len(compared.lost)
        self._counted["unasked"] += len(compared.unasked)
        self._counted["not whole"] += bool(whole)
        return [*compared.lost, *compared.unasked, *whole]

    async def _retry(self, mesh: Mesh, told: Told) -> list[str]:
        committed = self._compared.committed
        retries = [retry_twice(mesh, call, had_committed=call in committed) for call in told.unanswered]
        found = [flaw for flaws in await asyncio.gather(*retries) for flaw in flaws]
        self._counted["retries"] += len(retries)
        self._counted["retries astray"] += len(found)
        return found

    async def _settle(self, mesh: Mesh) -> list[str]:
        try:
            await settle(mesh, StoredFile(self.path), self._runs)
            stored = StoredFile(self.path)
            found = leftovers(stored, self._runs)
        except PauseMeshError:
            stored, found = StoredFile(self.path), [traceback.format_exc()]
        self._counted["stuck"] += bool(found)
        self._counted["runs"] = self._counted["runs"] + len(self._runs)
        self._marks = set(marks_of(stored))
        return found
