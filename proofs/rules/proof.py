"""Runs the machine on every store, and on a store that forgives stale holders, which must be caught."""

import dataclasses
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import run_state_machine_as_test

from pausemesh import MemoryEventStore, SqliteEventStore
from pausemesh.ports import EventStore
from pausemesh.records import Appended, Refused, Write
from pausemesh.testing.clock import ManualClock
from proofs.children import Line, in_lanes
from proofs.places import folder_in_memory
from proofs.report import NONE, SOME, Report, at_least
from proofs.rules.machine import Rules
from proofs.stored_file import StoredFile


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many lives on each store, and how many steps each has."""

    rounds: int
    steps: int


QUICK: Final = Size(rounds=500, steps=50)
SHORT: Final = Size(rounds=30, steps=30)


class OnMemory(Rules):
    """The steps on the store in memory."""

    async def open_store(self, clock: ManualClock) -> EventStore:
        """Open an empty store."""
        return MemoryEventStore(clock)


class OnSqlite(Rules):
    """The steps on a file."""

    folder: tempfile.TemporaryDirectory[str]

    async def open_store(self, clock: ManualClock) -> EventStore:
        """Open an empty store."""
        self.folder = folder_in_memory()
        return await SqliteEventStore.open(Path(self.folder.name) / "mesh.db", clock, readers=1)

    def teardown(self) -> None:
        """Look at everything, at the rows too, and let go."""
        try:
            super().teardown()
            if sys.exc_info()[0] is None and self.counted["files"] % 10 == 0:
                assert StoredFile(Path(self.folder.name) / "mesh.db").flaws() == []
            self.counted["files"] += 1
        finally:
            self.folder.cleanup()


class ForgivingStore(MemoryEventStore):
    """A store that does not mind whose fence it is; as a control."""

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes, or none, but without comparing fences."""
        return await super().append(
            *[write if write.finish else dataclasses.replace(write, fence=None) for write in writes]
        )


class OnForgivingStore(Rules):
    """The steps on the broken store."""

    async def open_store(self, clock: ManualClock) -> EventStore:
        """Open an empty store."""
        return ForgivingStore(clock)


STORES: Final = {"memory": OnMemory, "sqlite": OnSqlite}


def run(size: Size, seed: int, lanes: int) -> Report:
    """Let hypothesis choose the steps."""
    del lanes
    report = Report("rules", seed)
    machines = [*STORES.values(), OnForgivingStore]
    *found, control = in_lanes(lambda lane: _lives(machines[lane], size, seed), len(machines))
    promise = "the rules hold, whatever comes in which order"
    for store, line in zip(STORES, found, strict=True):
        report.fail(line["messages"])
        report.count(promise, size.rounds, f"lives on {store}", line.get("lives", 0), at_least(size.rounds))
        report.count(
            promise, size.rounds, f"steps on {store}", line.get("steps", 0), at_least(size.rounds * size.steps // 2)
        )
        for what in ("decisions", "refused", "retries", "claims", "effects"):
            report.count(promise, size.rounds, f"{what} on {store}", line.get(what, 0), SOME)
        report.count(promise, size.rounds, f"differences from the model on {store}", len(line["messages"]), NONE)
    name = "control: a store that does not compare fences"
    report.count(name, size.rounds, "differences from the model", len(control["messages"]), SOME)
    return report


def _lives(machine: type[Rules], size: Size, seed: int) -> Line:
    counted: Counter[str] = Counter()
    machine.counted = counted
    is_control = machine is OnForgivingStore
    settings = hypothesis.settings(
        max_examples=size.rounds,
        stateful_step_count=size.steps,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate] if is_control else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    messages: list[str] = []
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=settings)
    except Exception:  # noqa: BLE001 - whatever it is, it is a difference
        messages.append(traceback.format_exc())
    return {**counted, "messages": messages}
