"""A mesh on a PostgreSQL server as a replica of the product has it, and what it is asked to do."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from psycopg_pool import AsyncConnectionPool

import pausemesh
from bench.throughput import PAYLOAD
from pausemesh.postgres import PostgresEventStore, grants, migrate_postgres_event_store
from pausemesh.service.mesh import Mesh
from pausemesh.testing.postgres import PostgresServer

SCHEMA: Final = "pausemesh"
ROLE: Final = "product"


class Round(NamedTuple):
    """What so many callers did: cycles a second, and the time of each resume in milliseconds."""

    per_second: float
    resumes: list[float]


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


async def at_once(mesh: Mesh, callers: int, seconds: float) -> Round:
    """Let so many callers do cycles for so long."""
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


def log_position(server: PostgresServer) -> int:
    """Return how many bytes of write-ahead log there have been."""
    [(position,)] = server.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
    return int(position)
