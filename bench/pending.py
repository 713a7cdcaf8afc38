"""Whether anything gets slower, or larger, with the number of open questions."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Final, TypeAlias

import pausemesh
from bench.fill import fill
from bench.measure import Row, Sizes, at_most, of_rounds
from bench.throughput import Once, p50_milliseconds
from pausemesh.adapters.clock import SystemClock
from pausemesh.ports import EventStore
from pausemesh.service.mesh import Mesh

GOAL_RATIO: Final = 1.5
_GOAL_MEGABYTES: Final = 250
Medians: TypeAlias = dict[str, list[float]]
"""The median of each round in milliseconds, by probe."""

PROBES: Final = ("create", "resume", "list of 50", "due scan")


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Compare the same calls on a file with few and on one with many pending questions, in turn."""
    few, many = folder / "few.db", folder / "many.db"
    await fill(few, sizes.few_pending)
    await fill(many, sizes.many_pending)
    medians = {path: {name: list[float]() for name in PROBES} for path in (few, many)}
    for _ in range(sizes.rounds):
        for path in (few, many):
            await _probe_all(path, sizes.probes, medians[path])
    rows = compared(medians[few], medians[many], sizes)
    return [*rows, *_memory_of_a_listing(many, sizes.many_pending)]


def compared(few: Medians, many: Medians, sizes: Sizes) -> list[Row]:
    """Return the medians of each probe on few and on many pending questions, and their ratio."""
    rows: list[Row] = []
    for name in PROBES:
        ratios = [more / less for less, more in zip(few[name], many[name], strict=True)]
        rows += [
            of_rounds(f"{name}, p50 at {sizes.few_pending:,} pending", few[name], "ms"),
            of_rounds(f"{name}, p50 at {sizes.many_pending:,} pending", many[name], "ms"),
            at_most(of_rounds(f"{name}, many / few", ratios, "x"), GOAL_RATIO),
        ]
    return rows


async def _probe_all(path: Path, probes: int, medians: Medians) -> None:
    store = await pausemesh.SqliteEventStore.open(path, SystemClock())
    try:
        async with pausemesh.open(store) as mesh:
            await probe_each(store, mesh, probes, medians)
    finally:
        await store.close()


async def probe_each(store: EventStore, mesh: Mesh, probes: int, medians: Medians) -> None:
    """Add the median of each probe, after a tenth of them to warm up."""
    for name, probe in probes_on(store, mesh).items():
        await p50_milliseconds(probe, probes // 10)
        medians[name].append(await p50_milliseconds(probe, probes))


def probes_on(store: EventStore, mesh: Mesh) -> dict[str, Once]:
    """Return what is tried, by name."""
    created: list[pausemesh.CreatedContinuation] = []
    cursors: list[str | None] = [None]
    keys = itertools.count()

    async def create() -> None:
        created.append(await mesh.create(payload={"message": "Which flight?"}))

    async def resume() -> None:
        one = created.pop()
        assert one.resume_token is not None
        await mesh.resume(
            one.continuation.id, token=one.resume_token, idempotency_key=str(next(keys)), payload={"flight": "AZ1"}
        )

    async def list_fifty() -> None:
        page = await mesh.list(status="pending", limit=50, cursor=cursors[0])
        cursors[0] = page.next_cursor

    async def scan_due() -> None:
        await store.list_due()

    return dict(zip(PROBES, (create, resume, list_fifty, scan_due), strict=True))


def _memory_of_a_listing(path: Path, expected: int) -> list[Row]:
    """List everything by cursor in a process of its own, and ask how large it became."""
    command = [sys.executable, "-m", "bench.listing", str(path)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if result["listed"] < expected:
        message = f"listed {result['listed']} of {expected}"
        raise AssertionError(message)
    megabytes = Row(name=f"memory after listing {result['listed']:,} by cursor", value=result["megabytes"], unit="MB")
    rate = Row(name="questions listed", value=result["listed"] / result["seconds"], unit="/s")
    return [at_most(megabytes, _GOAL_MEGABYTES), rate]
