"""A server on PostgreSQL: the real one, with a pool as ``pausemesh serve`` has it."""

import dataclasses
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg_pool import AsyncConnectionPool

from pausemesh.core import limits
from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.server.settings import LogLevel
from pausemesh.stores.postgres_pool import open_pool, read_address
from proofs.clocks import AheadClock
from proofs.http.request import Keys, make_keys
from proofs.http.serving import CheckedStore, Service


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SchemaService(Service):
    """One on a schema of a database.

    Attributes:
        url: by which it reaches the database.
        schema: where its tables are.
        store: the kind of store.
        call_seconds: how long a call of the store may take.
    """

    url: str
    schema: str
    store: type[PostgresEventStore] = PostgresEventStore
    call_seconds: float = limits.CALL_SECONDS
    log_level: LogLevel = "error"

    @asynccontextmanager
    async def opened(self, clock: AheadClock) -> AsyncIterator[CheckedStore]:
        """Open the store; the database's clock decides, unless the server's is to be ahead."""
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of each connection that is cut
        async with open_pool(read_address(self.url)) as pool:
            own = clock if self.ahead else None
            store = self.store(pool, self.schema, clock=own, call_seconds=self.call_seconds)
            try:
                yield store
            finally:
                await store.close()


async def prepare(url: str, schema: str) -> Keys:
    """Make a schema, and the keys of those who will call."""
    async with AsyncConnectionPool(url, min_size=1, max_size=5) as pool:
        await migrate_postgres_event_store(pool, schema)
        store = PostgresEventStore(pool, schema)
        try:
            return await make_keys(store)
        finally:
            await store.close()
