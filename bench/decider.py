"""A process that answers questions on the same file: ids in, one a line; out, when each call began."""

import asyncio
import sys
import time

import pausemesh
from pausemesh import Principal, Role


async def main(path: str) -> None:
    """Answer each question that is named, until nothing more is."""
    person = Principal(id="ana", role=Role.EDITOR)
    async with pausemesh.open(f"sqlite:///{path}") as mesh:
        await mesh.list(limit=1)
        print("ready", flush=True)
        while noun_id := (await asyncio.to_thread(sys.stdin.readline)).strip():
            begun = time.monotonic()
            await mesh.answer(noun_id, by=person, idempotency_key="k", payload={"flight": "AZ1"})
            print(begun, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
