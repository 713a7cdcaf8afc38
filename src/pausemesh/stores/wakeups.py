"""Who wants to know when events were committed, and the greatest seq that is known."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from pausemesh.core.errors import StoreUnavailable
from pausemesh.stores.calls import wake


class Watch(Protocol):
    """Looks for commits of others while somebody listens."""

    def start(self) -> None:
        """Begin to look; called when the first listener comes."""
        ...

    def stop(self) -> None:
        """Cease to look; called when the last listener has gone. Does not block."""
        ...


class _Listener:
    __slots__ = ("event", "log", "loop")

    def __init__(self, log: int) -> None:
        self.log = log
        self.loop = asyncio.get_running_loop()
        self.event = asyncio.Event()


class Wakeups:
    """Fans the greatest seq out to listeners on any event loop; who is slow gets the newest only."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._lock = threading.Lock()
        self._listeners: set[_Listener] = set()
        self._newest = 0
        self._log = 0
        self._closed = False

    def announce(self, seq: int) -> None:
        """Tell all listeners that events up to ``seq`` are committed; called by any thread."""
        with self._lock:
            if seq <= self._newest:
                return
            self._newest = seq
            self._wake_all()

    async def listen(self, find_last_seq: Callable[[], Awaitable[int]]) -> AsyncGenerator[int, None]:
        """Yield the greatest seq, first at once and then whenever it has grown; end with ``close``.

        Raises:
            StoreUnavailable: the log is another one now, whose seqs mean something else.
        """
        listener = _Listener(self._log)
        self._join(listener)
        try:
            told = await find_last_seq()
            yield told
            while True:
                await listener.event.wait()
                listener.event.clear()
                if self._closed:
                    return
                if listener.log != self._log:
                    raise StoreUnavailable("Another log is in its place now; listen again.")
                if self._newest > told:
                    told = self._newest
                    yield told
        finally:
            self._leave(listener)

    def start_over(self) -> None:
        """Forget the seqs of a log that was replaced by another, and send all that listen away; by any thread."""
        with self._lock:
            self._log += 1
            self._newest = 0
            self._wake_all()

    def close(self) -> None:
        """End all that listen."""
        with self._lock:
            self._closed = True
            self._wake_all()

    def _wake_all(self) -> None:
        for listener in self._listeners:
            wake(listener.loop, asyncio.Event.set, listener.event)

    def _join(self, listener: _Listener) -> None:
        with self._lock:
            if self._closed:
                listener.event.set()
            if self._watch is not None and not self._listeners and not self._closed:
                self._watch.start()
            self._listeners.add(listener)

    def _leave(self, listener: _Listener) -> None:
        with self._lock:
            self._listeners.discard(listener)
            if self._watch is not None and not self._listeners:
                self._watch.stop()
