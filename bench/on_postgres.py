"""Cycles on PostgreSQL beside those that pgbench does by itself, in turn and on one server."""

import asyncio
import statistics
from pathlib import Path
from typing import Final

from bench import rates, wakes
from bench.measure import Row, Sizes, at_least, of_rounds
from bench.pgbench import SCHEMA as PLAIN
from bench.pgbench import Pgbench
from bench.replica import ROLE, SCHEMA, Round, at_once, cycle, log_position, mesh_on, percentile, prepare
from bench.servers import schema
from pausemesh.service.mesh import Mesh
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

_SETTINGS: Final = {"max_connections": "300"}
_GOALS: Final = {1: 0.5, 8: 0.75, 32: 1.1}
_MORE_ROUNDS: Final = 3
"""How many rounds are added where the machine was too busy with something else in some."""

_CYCLES_OF_WAL: Final = 1_000


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Return cycles/s by the number of callers, their ratio to pgbench, the time of a resume, and the log's growth."""
    with PostgresServer.start(binaries=binaries_for_tests(), settings=_SETTINGS, durable=True) as server:
        await prepare(server)
        async with mesh_on(server) as mesh:
            await at_once(mesh, 8, sizes.seconds_per_try)
            alone = _pgbench(server, folder)
            rows: list[Row] = []
            for callers in sizes.callers:
                rows += await _compare(mesh, alone, callers, sizes)
            rows += await wakes.measure(mesh, server.url_of(ROLE), sizes)
            return [*rows, *await _log_of_a_cycle(server, mesh, alone, sizes)]


async def measure_over_http(sizes: Sizes) -> list[Row]:
    """Return what a server on PostgreSQL does in a second over HTTP, beside echoes that keep nothing."""
    with PostgresServer.start(binaries=binaries_for_tests(), settings=_SETTINGS, durable=True) as server:
        url = await prepare(server)
        return await asyncio.to_thread(rates.measure, schema(url), sizes)


async def _compare(mesh: Mesh, alone: Pgbench, callers: int, sizes: Sizes) -> list[Row]:
    pairs: list[tuple[Round, float]] = []
    while len(kept := _undisturbed(pairs)) < sizes.rounds and len(pairs) < sizes.rounds + _MORE_ROUNDS:
        baseline = alone.cycles_per_second(callers, sizes.seconds_per_try)
        pairs.append((await at_once(mesh, callers, sizes.seconds_per_try), baseline))
    who = f"{callers} caller{'' if callers == 1 else 's'}"
    ratio = of_rounds(f"cycles, {who}, / pgbench", [ours.per_second / baseline for ours, baseline in kept], "x")
    goal = _GOALS.get(callers)
    return [
        of_rounds(f"cycles/s, {who}", [ours.per_second for ours, _ in kept], "/s"),
        of_rounds(f"cycles/s, {who}, pgbench", [baseline for _, baseline in kept], "/s"),
        ratio if goal is None else at_least(ratio, goal),
        of_rounds(f"resume, {who}, p50", [percentile(ours.resumes, 50) for ours, _ in kept], "ms"),
        of_rounds(f"resume, {who}, p99", [percentile(ours.resumes, 99) for ours, _ in kept], "ms"),
    ]


def _undisturbed(pairs: list[tuple[Round, float]]) -> list[tuple[Round, float]]:
    """Return the rounds in which pgbench was not slowed to less than half of its median."""
    least = statistics.median([baseline for _, baseline in pairs]) / 2 if pairs else 0.0
    return [pair for pair in pairs if pair[1] >= least]


def _pgbench(server: PostgresServer, folder: Path) -> Pgbench:
    """Return pgbench with events of the sizes that the store has written by now."""
    sizes = server.execute(
        f"SELECT avg(octet_length(data))::integer FROM {SCHEMA}.events GROUP BY version ORDER BY version"  # noqa: S608
    )
    (created,), (resumed,) = sizes
    return Pgbench(server, folder, schema=SCHEMA, created=created, resumed=resumed)


async def _log_of_a_cycle(server: PostgresServer, mesh: Mesh, alone: Pgbench, sizes: Sizes) -> list[Row]:
    """Return by how many bytes the write-ahead log grows with a cycle, here and where pgbench does it."""
    cycles = min(_CYCLES_OF_WAL, 100 * sizes.rounds)
    before = log_position(server)
    for _ in range(cycles):
        await cycle(mesh)
    ours = (log_position(server) - before) / cycles
    before, rows_before = log_position(server), _rows(server)
    alone.cycles_per_second(1, 1)
    plain = (log_position(server) - before) / (_rows(server) - rows_before)
    return [
        Row(name="write-ahead log a cycle", value=ours, unit="bytes"),
        Row(name="write-ahead log a cycle, pgbench", value=plain, unit="bytes"),
    ]


def _rows(server: PostgresServer) -> int:
    [(rows,)] = server.execute(f"SELECT count(*) FROM {PLAIN}.heads")  # noqa: S608
    return int(rows)
