"""A replica of its own that waits for the questions it is told of, and says when it had each answer in hand."""

import asyncio
import sys
import time

import uvloop
from psycopg_pool import AsyncConnectionPool

import pausemesh
from pausemesh.postgres import PostgresEventStore
from pausemesh.service.mesh import Mesh


async def main(url: str, schema: str) -> None:
    """Wait for one question a line, and answer with the time by the clock that all processes share."""
    lines = asyncio.Queue[str]()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), lambda: lines.put_nowait(sys.stdin.readline().strip()))
    async with AsyncConnectionPool(url, min_size=4, max_size=8) as pool:
        store = PostgresEventStore(pool, schema)
        async with pausemesh.open(store) as mesh:
            # Somebody always waits, as in a server; so the listener is there.
            always = asyncio.ensure_future(mesh.wait((await mesh.create(payload={})).continuation.id))
            while noun_id := await lines.get():
                await _wait(mesh, noun_id)
            always.cancel()
            await asyncio.gather(always, return_exceptions=True)
        await store.close()


async def _wait(mesh: Mesh, noun_id: str) -> None:
    waiting = asyncio.ensure_future(mesh.wait(noun_id))
    await asyncio.sleep(0)
    print("waiting", flush=True)
    await waiting
    print(time.monotonic(), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2]))
