"""A process that forks, for the tests beside this: it says what became of its children, a line of JSON each."""

import asyncio
import gc
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, SpawnContext
from typing import Final

from pausemesh.core.errors import ForkedMesh, StoreError
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, given, loaded, write

_CONTEXTS: Final[dict[str, SpawnContext | ForkServerContext]] = {
    "spawn": multiprocessing.get_context("spawn"),
    "forkserver": multiprocessing.get_context("forkserver"),
}


def say(line: object) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - what this process is for


def child(work: Callable[[], None]) -> int:
    """Fork; the child does its work and leaves at once, the parent gets its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    finally:
        os._exit(0)


async def opened(path: str) -> SqliteEventStore:
    return await SqliteEventStore.open(path, ManualClock(), call_seconds=5)


async def append_to(path: str, *names: str) -> None:
    """Open a file, append to it, and close it."""
    store = await opened(path)
    for name in names:
        await given(store, write(name))
    await store.close()


def attempt(path: str) -> str:
    try:
        asyncio.run(append_to(path, f"child {os.getpid()}"))
    except (ForkedMesh, StoreError) as error:
        return str(error)
    return "stored"


def attempt_each(path: str) -> None:
    """Try the parent's file, another one, and memory; then the same in a child of one's own."""
    say([attempt(path), attempt(f"{path}.other")])
    asyncio.run(given_in_memory())
    os.waitpid(child(lambda: say([attempt(path)])), 0)


async def given_in_memory() -> None:
    store = MemoryEventStore(ManualClock())
    await given(store, write("a"))
    say((await loaded(store, "a")).version)


def beside_an_open_store(path: str) -> None:
    """Fork while a store is open, go on, and close it; then fork again."""
    with asyncio.Runner() as runner:
        store = runner.run(opened(path))
        os.waitpid(child(lambda: attempt_each(path)), 0)
        runner.run(given(store, write("parent")))
        runner.run(store.close())
    os.waitpid(child(lambda: say(attempt(path))), 0)


def after_closing(path: str) -> None:
    """Fork after a store was closed; both write in turns, the parent closes first, and the child is killed."""
    asyncio.run(append_to(path, "before"))
    done, told = os.pipe()
    go, tell = os.pipe()

    async def work() -> None:
        store = await opened(path)
        await given(store, write("child 1"))
        os.write(told, b"1")
        os.read(go, 1)
        await given(store, write("child 2"))
        os.kill(os.getpid(), signal.SIGKILL)

    pid = child(lambda: asyncio.run(work()))
    os.read(done, 1)
    asyncio.run(append_to(path, "parent"))
    os.write(tell, b"1")
    os.waitpid(pid, 0)


def heirs(path: str) -> None:
    """Fork while a store is open; the child drops it and ends as usual, after others have used the file."""
    go, tell = os.pipe()
    with asyncio.Runner() as runner:
        store: SqliteEventStore | None = runner.run(opened(path))
        pid = os.fork()
        if pid == 0:
            os.close(tell)
            store = None
            gc.collect()
            os.read(go, 1)
            return
        assert store is not None
        runner.run(store.close())
    asyncio.run(given_and_killed_beside(path))
    os.close(tell)
    os.waitpid(pid, 0)


async def given_and_killed_beside(path: str) -> None:
    """Have a process of another ancestry append, and be killed before it can clean up."""
    process = multiprocessing.get_context("spawn").Process(target=append_and_die, args=(path,))
    await asyncio.to_thread(process.start)
    await asyncio.to_thread(process.join)


def append_and_die(path: str) -> None:
    async def work() -> None:
        await given(await opened(path), write("third"))
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(work())


def started(path: str, how: str) -> None:
    """Start a process by another way than fork while a store is open."""
    with asyncio.Runner() as runner:
        store = runner.run(opened(path))
        process = _CONTEXTS[how].Process(target=run_append, args=(path, how))
        process.start()
        process.join()
        say((runner.run(loaded(store, how))).scope == SCOPE)
        runner.run(store.close())


def run_append(path: str, name: str) -> None:
    asyncio.run(append_to(path, name))


ROLES: Final[dict[str, Callable[..., None]]] = {
    "beside": beside_an_open_store,
    "after": after_closing,
    "heirs": heirs,
    "started": started,
}

if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    ROLES[role](*arguments)
