"""A process of its own that migrates: it says which migrations it applied, and may die at one of their statements."""

import asyncio
import json
import sys

from psycopg_pool import AsyncConnectionPool

from pausemesh.records import CrashPoint
from pausemesh.stores.postgres_schema import migrate_postgres_event_store
from pausemesh.testing.faults import CrashAt


async def migrate(url: str, schema: str, after: str = "") -> None:
    fault = CrashAt(CrashPoint.MID_MIGRATION, after=int(after)) if after else None
    async with AsyncConnectionPool(url, min_size=1, max_size=1) as pool:
        print("ready", flush=True)  # noqa: T201 - what this process is for
        await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps(await migrate_postgres_event_store(pool, schema, fault=fault)))  # noqa: T201 - see above


if __name__ == "__main__":
    asyncio.run(migrate(*sys.argv[1:]))
