"""Appends and cycles a second, with shared commits and with a commit for each append, in turn."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest import mock
from uuid import UUID

import pausemesh
from bench.measure import Row, Sizes, at_least, of_rounds
from pausemesh.adapters.clock import SystemClock
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.records import Appended, Head, NewEvent, Write
from pausemesh.service.mesh import Mesh

Once = Callable[[], Awaitable[None]]

_GOAL_AT = 32
_GOAL = 3.0
PAYLOAD = {"kind": "input", "message": "Which flight shall it be?", "choices": ["AZ1", "AZ2", "AZ3"]}


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Return appends/s and cycles/s by the number of callers, and the ratio to a commit for each."""
    store = await pausemesh.SqliteEventStore.open(folder / "throughput.db", SystemClock())
    try:
        async with pausemesh.open(store) as mesh:
            appends = await _compare("appends", _append_to(store), sizes)
            return appends + await _compare("cycles", _cycle_on(mesh), sizes)
    finally:
        await store.close()


async def _compare(name: str, once: Once, sizes: Sizes) -> list[Row]:
    rows: list[Row] = []
    for callers in sizes.callers:
        shared, alone = [], []
        for _ in range(sizes.rounds):
            shared.append(await _per_second(once, callers, sizes.seconds_per_try))
            with mock.patch("pausemesh.core.limits.WRITES_PER_FLUSH", 1):
                alone.append(await _per_second(once, callers, sizes.seconds_per_try))
        ratios = [one / other for one, other in zip(shared, alone, strict=True)]
        who = f"{callers} caller{'' if callers == 1 else 's'}"
        ratio = of_rounds(f"{name}, {who}, / a commit each", ratios, "x")
        held = callers == _GOAL_AT and name == "appends"
        rows += [
            of_rounds(f"{name}/s, {who}", shared, "/s"),
            of_rounds(f"{name}/s, {who}, a commit each", alone, "/s"),
            at_least(ratio, _GOAL) if held else ratio,
        ]
    return rows


async def _per_second(once: Once, callers: int, seconds: float) -> float:
    done, ends = 0, time.perf_counter() + seconds

    async def call() -> None:
        nonlocal done
        while time.perf_counter() < ends:
            await once()
            done += 1

    begun = time.perf_counter()
    await asyncio.gather(*[call() for _ in range(callers)])
    return done / (time.perf_counter() - begun)


def _append_to(store: pausemesh.SqliteEventStore) -> Once:
    ids, numbers = TimeOrderedIds(), itertools.count()
    head = Head(kind="bench", status="pending", open=True, correlation="bench")

    async def once() -> None:
        event_id: UUID = ids.event_id()
        event = NewEvent(id=event_id, type="bench.happened", data=b"x" * 200)
        write = Write(
            scope="bench", stream=f"bench/{next(numbers):012}", expected_version=0, head=head, events=(event,)
        )
        assert isinstance(await store.append(write), Appended)

    return once


def _cycle_on(mesh: Mesh) -> Once:
    async def once() -> None:
        created = await mesh.create(payload=PAYLOAD)
        assert created.resume_token is not None
        await mesh.resume(
            created.continuation.id,
            token=created.resume_token,
            idempotency_key="callback-1",
            payload={"flight": "AZ1"},
        )

    return once


async def p50_milliseconds(probe: Once, probes: int) -> float:
    """Return the median time of a call that nothing else competes with."""
    times = []
    for _ in range(probes):
        begun = time.perf_counter()
        await probe()
        times.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(times)
