"""A store behind a proxy whose flushes have the fates that a test gives them."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg_pool import AsyncConnectionPool

from pausemesh.postgres import PostgresEventStore
from pausemesh.testing.clock import ManualClock
from proofs.postgres.proxy import Fate, Proxy


class Fates:
    """The fates of the next flushes; then all pass."""

    def __init__(self) -> None:
        self.next: deque[Fate] = deque()

    def __call__(self) -> Fate:
        return self.next.popleft() if self.next else Fate.PASS


@asynccontextmanager
async def store_behind(
    url: str, schema: str, clock: ManualClock, fates: Fates, *, call_seconds: float
) -> AsyncIterator[PostgresEventStore]:
    """Open a store whose connections go through a proxy."""
    address, _, port = url.rpartition("/")[0].rpartition(":")
    database = url.rpartition("/")[2]
    async with Proxy(int(port), fates) as proxy:
        through = f"{address}:{proxy.port}/{database}"
        async with AsyncConnectionPool(through, min_size=1, max_size=8, reconnect_timeout=5) as pool:
            store = PostgresEventStore(pool, schema, clock=clock, call_seconds=call_seconds)
            yield store
            await store.close()
