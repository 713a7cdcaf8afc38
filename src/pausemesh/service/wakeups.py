"""Waking whoever waits for a stream: one follower of the log a process, however many wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from pausemesh.core import limits
from pausemesh.core.errors import StoreClosed
from pausemesh.ports import EventStore

_BACKSTOP_SECONDS: Final = 2.0
"""How long a lost wake-up can go unnoticed."""

_ANY: Final = "*"


class Wakeup:
    """What one waiter sleeps on."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._is_over = False

    def wake(self) -> None:
        """End the sleep, or the next one at once."""
        self._woken.set()

    def end(self) -> None:
        """Let nobody sleep on it any more."""
        self._is_over = True
        self._woken.set()

    def clear(self) -> None:
        """Forget what happened before the look that follows."""
        self._woken.clear()

    async def sleep(self, seconds: float) -> None:
        """Sleep until woken, or for so many seconds.

        Raises:
            StoreClosed: the mesh was closed meanwhile.
        """
        timer = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()
        if self._is_over:
            raise StoreClosed


class Wakeups:
    """Follows the log while somebody waits, and wakes those whose stream grew."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._waiting: dict[tuple[str, str], set[Wakeup]] = {}
        self._follower: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._following = asyncio.Event()
        self._is_closed = False

    @contextlib.asynccontextmanager
    async def of(self, scope: str, *streams: str) -> AsyncIterator[Wakeup]:
        """Give what is woken whenever one of the streams, or without streams any, grew since the block began."""
        if self._is_closed:
            raise StoreClosed
        woken = Wakeup()
        keys = [(scope, stream) for stream in streams or (_ANY,)]
        for key in keys:
            self._waiting.setdefault(key, set()).add(woken)
        try:
            await self._follow()
            yield woken
        finally:
            for key in keys:
                self._waiting[key].discard(woken)
                if not self._waiting[key]:
                    del self._waiting[key]
            if not self._waiting:
                self._unfollow()

    async def close(self) -> None:
        """Stop following, and send away whoever still waits."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for woken in waiting:
                woken.end()
        self._unfollow()
        self._following.set()
        if self._ending:
            await asyncio.wait(self._ending)

    def _unfollow(self) -> None:
        """Cancel the follower; it is not waited for, so that leaving a block never suspends."""
        follower, self._follower = self._follower, None
        self._following.clear()
        if follower is not None:
            self._ending.add(follower)
            follower.add_done_callback(self._ending.discard)
            follower.cancel()

    async def _follow(self) -> None:
        if self._follower is None or self._follower.done():
            self._following.clear()
            self._follower = asyncio.create_task(self._run(), name="pausemesh-wakeups")
        await self._following.wait()
        if self._is_closed:
            raise StoreClosed

    async def _run(self) -> None:
        while True:
            try:
                seq = await self._store.last_seq()
                self._following.set()
                self._wake_all()
                async for _ in _with_backstop(self._store.wakeups()):
                    seq = await self._wake_after(seq)
            except Exception:  # noqa: BLE001 - whoever waits must look again, whatever went wrong
                self._following.set()
                self._wake_all()
                await asyncio.sleep(_BACKSTOP_SECONDS)

    async def _wake_after(self, seq: int) -> int:
        while events := await self._store.feed(seq, None, limits.FEED_MAX):
            for event in events:
                self._wake(event.scope, event.stream)
                self._wake(event.scope, _ANY)
            seq = events[-1].seq
        return seq

    def _wake(self, scope: str, stream: str) -> None:
        for woken in self._waiting.get((scope, stream), ()):
            woken.wake()

    def _wake_all(self) -> None:
        for waiting in self._waiting.values():
            for woken in waiting:
                woken.wake()


async def _with_backstop(wakeups: AsyncIterator[int]) -> AsyncIterator[None]:
    """Yield at each wake-up, and after a while without one."""
    upcoming: asyncio.Future[int] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(wakeups))
            done, _ = await asyncio.wait({upcoming}, timeout=_BACKSTOP_SECONDS)
            if done:
                try:
                    upcoming.result()
                except StopAsyncIteration:
                    return
                upcoming = None
            yield None
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.wait({upcoming})
