"""Cycles on PostgreSQL beside those that pgbench does by itself, in turn and on one server."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from psycopg_pool import AsyncConnectionPool

import pausemesh
from bench.measure import Row, Sizes, at_least, of_rounds
from bench.pgbench import SCHEMA as PLAIN
from bench.pgbench import Pgbench
from bench.throughput import PAYLOAD
from pausemesh.postgres import PostgresEventStore, grants, migrate_postgres_event_store
from pausemesh.service.mesh import Mesh
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

SCHEMA: Final = "pausemesh"
ROLE: Final = "product"
_SETTINGS: Final = {"max_connections": "300"}
_GOALS: Final = {1: 0.5, 8: 0.75, 32: 1.1}
_MORE_ROUNDS: Final = 3
"""How many rounds are added where the machine was too busy with something else in some."""

_CYCLES_OF_WAL: Final = 1_000


class Round(NamedTuple):
    """What so many callers did: cycles a second, and the time of each resume in milliseconds."""

    per_second: float
    resumes: list[float]


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Return cycles/s by the number of callers, their ratio to pgbench, the time of a resume, and the log's growth."""
    with PostgresServer.start(binaries=binaries_for_tests(), settings=_SETTINGS, durable=True) as server:
        await prepare(server)
        async with mesh_on(server) as mesh:
            await _round(mesh, 8, sizes.seconds_per_try)
            alone = _pgbench(server, folder)
            rows: list[Row] = []
            for callers in sizes.callers:
                rows += await _compare(mesh, alone, callers, sizes)
            return [*rows, *await _log_of_a_cycle(server, mesh, alone, sizes)]


async def prepare(server: PostgresServer, schema: str = SCHEMA) -> str:
    """Make a schema and a role for a server of the product, with rights on it; return the role's address."""
    async with AsyncConnectionPool(server.url, min_size=1, max_size=1) as pool:
        await migrate_postgres_event_store(pool, schema)
    if not server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):  # noqa: S608
        server.new_role(ROLE)
    server.execute(grants(schema, ROLE))
    return server.url_of(ROLE)


@asynccontextmanager
async def mesh_on(server: PostgresServer) -> AsyncIterator[Mesh]:
    """Open a mesh as the product's role."""
    async with AsyncConnectionPool(server.url_of(ROLE), min_size=4, max_size=8) as pool:
        store = PostgresEventStore(pool, SCHEMA)
        async with pausemesh.open(store) as mesh:
            yield mesh
        await store.close()


async def _compare(mesh: Mesh, alone: Pgbench, callers: int, sizes: Sizes) -> list[Row]:
    pairs: list[tuple[Round, float]] = []
    while len(kept := _undisturbed(pairs)) < sizes.rounds and len(pairs) < sizes.rounds + _MORE_ROUNDS:
        baseline = alone.cycles_per_second(callers, sizes.seconds_per_try)
        pairs.append((await _round(mesh, callers, sizes.seconds_per_try), baseline))
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


async def _round(mesh: Mesh, callers: int, seconds: float) -> Round:
    done, resumes, ends = 0, list[float](), time.perf_counter() + seconds

    async def call() -> None:
        nonlocal done
        while time.perf_counter() < ends:
            resumes.append(await cycle(mesh))
            done += 1

    begun = time.perf_counter()
    await asyncio.gather(*[call() for _ in range(callers)])
    return Round(done / (time.perf_counter() - begun), resumes)


async def cycle(mesh: Mesh) -> float:
    """Ask and answer one question; return how many milliseconds the answer took."""
    created = await mesh.create(payload=PAYLOAD)
    assert created.resume_token is not None
    begun = time.perf_counter()
    await mesh.resume(
        created.continuation.id, token=created.resume_token, idempotency_key="callback-1", payload={"flight": "AZ1"}
    )
    return (time.perf_counter() - begun) * 1_000


def percentile(values: list[float], percent: int) -> float:
    """Return the value that so many in a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


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
    before = _position(server)
    for _ in range(cycles):
        await cycle(mesh)
    ours = (_position(server) - before) / cycles
    before, rows_before = _position(server), _rows(server)
    alone.cycles_per_second(1, 1)
    plain = (_position(server) - before) / (_rows(server) - rows_before)
    return [
        Row(name="write-ahead log a cycle", value=ours, unit="bytes"),
        Row(name="write-ahead log a cycle, pgbench", value=plain, unit="bytes"),
    ]


def _position(server: PostgresServer) -> int:
    [(position,)] = server.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
    return int(position)


def _rows(server: PostgresServer) -> int:
    [(rows,)] = server.execute(f"SELECT count(*) FROM {PLAIN}.heads")  # noqa: S608
    return int(rows)
