"""A process that lists every pending question of a file, and says how large it became."""

import asyncio
import json
import resource
import sys
import time

import pausemesh


async def main(path: str) -> dict[str, float]:
    """List page after page, keeping none."""
    listed, cursor, begun = 0, None, time.perf_counter()
    async with pausemesh.open(f"sqlite:///{path}") as mesh:
        while True:
            page = await mesh.list(status="pending", limit=200, cursor=cursor)
            listed += len(page.continuations)
            cursor = page.next_cursor
            if cursor is None:
                break
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"listed": listed, "seconds": time.perf_counter() - begun, "megabytes": kilobytes / 1_024}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))
