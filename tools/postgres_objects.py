"""The list of what the PostgreSQL schema holds, made from a database that the migrations were run in."""

import asyncio
import time
from typing import Final

from psycopg_pool import AsyncConnectionPool

from pausemesh.stores.postgres_objects import objects_in, written
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import in_schema
from pausemesh.stores.statements import migrations
from pausemesh.testing.postgres import PostgresServer
from pausemesh.testing.postgres_address import PostgresAddress

_SCHEMA: Final = "pausemesh"
_SECONDS: Final = 60.0


def postgres_objects() -> str:
    """Return the content of the file, by a server that is started for it."""
    with PostgresServer.start() as server:
        return objects_of(server, _SCHEMA)


def objects_of(server: PostgresAddress, schema: str) -> str:
    """Return the same by this server, on which the schema is not there yet."""
    server.execute(f'CREATE SCHEMA "{schema}"')
    for migration in migrations("postgres"):
        server.execute(in_schema(schema, migration.sql))
    return asyncio.run(_described(server.url, schema))


async def _described(url: str, schema: str) -> str:
    deadline = time.monotonic() + _SECONDS
    async with AsyncConnectionPool(url, min_size=1, max_size=1) as pool:
        session = await PostgresSession.open(pool, deadline=deadline, prepare=False)
        try:
            return written(await objects_in(session, schema, deadline=deadline))
        finally:
            await session.close()
