"""How soon an answer that one replica stored is in the hand of whoever waits at another."""

import asyncio
import contextlib
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

from bench.measure import Row, Sizes
from bench.replica import SCHEMA, cycle, percentile
from bench.throughput import PAYLOAD
from pausemesh.service.mesh import Mesh

_RESUMERS = 32
_PAUSE_SECONDS = 0.02
"""Between two wakes, so that each finds the other replica at rest."""


async def measure(mesh: Mesh, url: str, sizes: Sizes) -> list[Row]:
    """Return p50 and p99 of the time from sending an answer until the other replica has it, idle and under load."""
    async with _waiter(url) as waiter:
        await _wake(mesh, waiter, 10)
        idle = await _wake(mesh, waiter, sizes.wakes)
        resumers = [asyncio.ensure_future(_cycle_for_ever(mesh)) for _ in range(_RESUMERS)]
        busy = await _wake(mesh, waiter, sizes.wakes)
        for resumer in resumers:
            resumer.cancel()
        await asyncio.gather(*resumers, return_exceptions=True)
    return [
        Row(name=f"answer until another replica has it, {how}, p{percent}", value=percentile(times, percent), unit="ms")
        for how, times in (("idle", idle), (f"beside {_RESUMERS} callers", busy))
        for percent in (50, 99)
    ]


async def _cycle_for_ever(mesh: Mesh) -> None:
    while True:
        await cycle(mesh)


async def _wake(mesh: Mesh, waiter: Process, wakes: int) -> list[float]:
    assert waiter.stdin is not None, "it is a pipe"
    times = []
    for _ in range(wakes):
        created = await mesh.create(payload=PAYLOAD)
        noun_id, token = created.continuation.id, created.resume_token
        assert token is not None
        waiter.stdin.write(f"{noun_id}\n".encode())
        assert await _line(waiter) == "waiting"
        await asyncio.sleep(_PAUSE_SECONDS)
        begun = time.monotonic()
        await mesh.resume(noun_id, token=token, idempotency_key="callback-1", payload={"flight": "AZ1"})
        times.append((float(await _line(waiter)) - begun) * 1_000)
    return times


async def _line(waiter: Process) -> str:
    assert waiter.stdout is not None, "it is a pipe"
    return (await waiter.stdout.readline()).decode().strip()


@contextlib.asynccontextmanager
async def _waiter(url: str) -> AsyncIterator[Process]:
    command = (sys.executable, "-m", "bench.waiter", url, SCHEMA)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        yield process
    finally:
        assert process.stdin is not None, "it is a pipe"
        process.stdin.close()
        await process.wait()
