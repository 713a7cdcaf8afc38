"""A process of its own on a file, for the tests beside this: it says what it was told, a line of JSON each."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from pausemesh.core.errors import ForkedMesh, StoreError
from pausemesh.ports import EventStore
from pausemesh.records import Appended, CrashPoint, Lease
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, SECOND, audit_row, given_decided, taken, write
from pausemesh.testing.faults import CrashAt


def say(line: object) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - what this process is for


async def race(path: str, streams: str) -> None:
    """Open a file, wait for the start, and try to be the first at each stream, two at a time."""
    store = await SqliteEventStore.open(path, ManualClock())
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    names = [f"s{index}" for index in range(int(streams))]
    pairs = list(zip(names, names[1:] + names[:1], strict=True))
    calls = [(write(one, rows=(audit_row(),)), write(other)) for one, other in pairs]
    results = await asyncio.gather(*[store.append(*call) for call in calls])
    say(
        [
            [event.hex for event in (call[0].events[0].id, call[1].events[0].id)]
            for call, result in zip(calls, results, strict=True)
            if isinstance(result, Appended)
        ]
    )
    await store.close()


async def crash(path: str, point: str, after: str) -> None:
    """Append calls of two writes, one after the other, and die at a point."""
    store = await SqliteEventStore.open(path, ManualClock(), fault=CrashAt(CrashPoint(point), after=int(after)))
    for index in range(10):
        result = await store.append(write(f"a{index}", rows=(audit_row(),)), write(f"b{index}"))
        say(isinstance(result, Appended))


async def fork(path: str) -> None:
    """Open stores and fork: what the child gets is said, then whether the parent goes on."""
    stores: list[EventStore] = [await SqliteEventStore.open(path, ManualClock()), MemoryEventStore(ManualClock())]
    for store in stores:
        await given_decided(store, "a")
        lease = await taken(store, "a")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, json.dumps([await _refusal_of(use) for use in _uses_of(store, lease)]).encode())
            os._exit(0)
        await asyncio.to_thread(os.waitpid, child, 0)
        say(json.loads(os.read(reader, 10_000)))
        say(isinstance(await store.append(write("b")), Appended))
        await store.close()


def _uses_of(store: EventStore, lease: Lease) -> list[Callable[[], Awaitable[object]]]:
    return [
        lambda: store.append(write("b")),
        lambda: store.load(SCOPE, "a"),
        lambda: store.beat(SCOPE, ["a"]),
        lambda: store.renew(lease, SECOND),
        lambda: anext(store.wakeups()),
        store.close,
    ]


async def _refusal_of(use: Callable[[], Awaitable[object]]) -> str:
    try:
        await use()
    except (ForkedMesh, StoreError) as error:
        return error.code
    return "none"


ROLES: Final[dict[str, Callable[..., Coroutine[None, None, None]]]] = {"race": race, "crash": crash, "fork": fork}

if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    asyncio.run(ROLES[role](*arguments))
