"""Calls that wait for the flusher: first in, first out, but a stream at most once in a flush."""

import asyncio
from collections import deque
from typing import Any, Final, TypeAlias

from pausemesh.core import limits
from pausemesh.core.errors import OutcomeUnknown, Overloaded, StoreClosed
from pausemesh.stores.calls import waited_too_long
from pausemesh.stores.postgres_asked import Asked
from pausemesh.stores.postgres_works import Append, Restore, Work

_LOOKED_AT: Final = 5 * limits.WRITES_PER_FLUSH
"""How many calls are looked at for one flush, where many want the same stream."""


AskedWork: TypeAlias = Asked[Work]


class FlushQueue:
    """A bounded queue on one event loop.

    Args:
        seconds: how long a call may wait before it is sent, and again for its outcome.
        most_weight: how many writes may wait.
    """

    def __init__(self, *, seconds: float, most_weight: int = limits.QUEUED_WRITES) -> None:
        self._seconds = seconds
        self._most_weight = most_weight
        self._asked: deque[AskedWork] = deque()
        self._weight = 0
        self._closed = False
        self._changed = asyncio.Event()

    async def ask(self, work: Work) -> Any:
        """Queue a call and wait for its outcome.

        Raises:
            StoreClosed: the queue is closed.
            Overloaded: too much is waiting.
            StoreUnavailable: its turn did not come in time; surely nothing was sent.
            OutcomeUnknown: it was sent, and there was no outcome in time.
        """
        if self._closed:
            raise StoreClosed
        if self._asked and self._weight + work.weight > self._most_weight:
            raise Overloaded
        asked: AskedWork = Asked(work, seconds=self._seconds)
        self._asked.append(asked)
        self._weight += work.weight
        self._changed.set()
        timer = asyncio.get_running_loop().call_later(2 * self._seconds, _give_up, asked)
        try:
            return await asked.future
        finally:
            timer.cancel()

    async def take(self) -> list[AskedWork]:
        """Wait for calls and return those of the next flush; an empty list once the queue is closed and empty."""
        while True:
            while not self._asked:
                if self._closed:
                    return []
                self._changed.clear()
                await self._changed.wait()
            if taken := self._take_some():
                return taken

    def close(self) -> None:
        """Accept nothing more; what was accepted can still be taken."""
        self._closed = True
        self._changed.set()

    def _take_some(self) -> list[AskedWork]:
        """Take what may share a flush: what wants a stream that is taken waits, and whatever would overtake it."""
        taken: list[AskedWork] = []
        waiting: list[AskedWork] = []
        busy: set[tuple[str, str]] = set()
        weight = 0
        for _ in range(min(len(self._asked), _LOOKED_AT)):
            asked = self._asked.popleft()
            if asked.future.done():
                self._weight -= asked.work.weight
                continue
            is_alone = isinstance(asked.work, Restore)
            if taken and (is_alone or weight + asked.work.weight > limits.WRITES_PER_FLUSH):
                waiting.append(asked)
                break
            streams = asked.work.streams if isinstance(asked.work, Append) else frozenset()
            if busy.isdisjoint(streams):
                taken.append(asked)
                weight += asked.work.weight
            else:
                waiting.append(asked)
            busy |= streams
            if is_alone:
                break
        self._asked.extendleft(reversed(waiting))
        self._weight -= weight
        return taken


def _give_up(asked: AskedWork) -> None:
    asked.settle(OutcomeUnknown() if asked.is_sent else waited_too_long())
