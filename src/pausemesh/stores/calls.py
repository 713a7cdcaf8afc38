"""Calls on their way from event loops to a store's threads, and their replies on the way back."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pausemesh.core import limits
from pausemesh.core.errors import Overloaded, StoreClosed, StoreError, StoreUnavailable

Worker = TypeVar("Worker")
T = TypeVar("T")


class Call(Generic[Worker, T]):
    """One call: what a thread shall do for it, and who waits on which loop.

    Attributes:
        work: does it, given what the thread works with.
        weight: how many writes it counts for.
        repeatable: done twice, it has the same effect and the same reply as once.
        seconds: how long it may wait for its turn.
        deadline: by ``time.monotonic``; what has not begun by then does not begin any more.
        future: belongs to ``loop``; other threads only ask whether it is done.
        is_begun: a thread has taken it; changed under the lock of its inbox.
    """

    __slots__ = ("deadline", "future", "is_begun", "loop", "repeatable", "seconds", "weight", "work")

    def __init__(
        self,
        work: Callable[[Worker], T],
        *,
        seconds: float,
        weight: int = 1,
        repeatable: bool = True,
    ) -> None:
        self.work = work
        self.weight = weight
        self.repeatable = repeatable
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.is_begun = False


class Inbox(Generic[Worker]):
    """A bounded queue of calls, first in first out; any thread may put and take.

    Args:
        stuck: makes the error of a call that was begun and not replied to, long after its time.
        most_weight: how much may wait.
    """

    def __init__(self, stuck: Callable[[], StoreError], most_weight: int = limits.QUEUED_WRITES) -> None:
        self._stuck = stuck
        self._most_weight = most_weight
        self._calls: deque[Call[Worker, Any]] = deque()
        self._weight = 0
        self._closed = False
        self._changed = threading.Condition(threading.Lock())

    async def ask(self, call: Call[Worker, T]) -> T:
        """Put a call and wait for its reply, not for ever: a disk can hang.

        Raises:
            StoreClosed: the inbox is closed.
            Overloaded: too much is waiting.
            StoreError: there was no reply in twice its time.
        """
        self.put(call)
        timer = call.loop.call_later(2 * call.seconds, self._give_up, call)
        try:
            return await call.future
        finally:
            timer.cancel()

    def put(self, call: Call[Worker, Any]) -> None:
        """Accept a call.

        Raises:
            StoreClosed: the inbox is closed.
            Overloaded: too much is waiting.
        """
        with self._changed:
            if self._closed:
                raise StoreClosed
            if self._calls and self._weight + call.weight > self._most_weight:
                raise Overloaded
            self._calls.append(call)
            self._weight += call.weight
            self._changed.notify()

    def take(self, most_weight: int) -> list[Call[Worker, Any]]:
        """Wait for calls and return the first ones, at most so heavy in sum but one at least.

        Returns:
            those whose callers still wait; an empty list once the inbox is closed and was emptied.
        """
        taken: list[Call[Worker, Any]] = []
        with self._changed:
            while not taken and self._wait_for_calls():
                weight = 0
                while self._calls and (not weight or weight + self._calls[0].weight <= most_weight):
                    call = self._calls.popleft()
                    weight += call.weight
                    if not call.future.done():
                        call.is_begun = True
                        taken.append(call)
                self._weight -= weight
        return taken

    def close(self) -> None:
        """Accept nothing more; what was accepted can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _wait_for_calls(self) -> bool:
        while not self._calls and not self._closed:
            self._changed.wait()
        return bool(self._calls)

    def _give_up(self, call: Call[Worker, Any]) -> None:
        with self._changed:
            if not call.future.done():
                call.future.set_exception(self._stuck() if call.is_begun else waited_too_long())


def waited_too_long() -> StoreUnavailable:
    """Return the error of a call that was not begun in time."""
    return StoreUnavailable("It waited too long for its turn.")


def part_late(calls: list[Call[Worker, Any]]) -> tuple[list[Call[Worker, Any]], list[Call[Worker, Any]]]:
    """Return the calls that may still begin, and those whose time has passed."""
    now = time.monotonic()
    if all(call.deadline > now for call in calls):
        return calls, []
    return [call for call in calls if call.deadline > now], [call for call in calls if call.deadline <= now]


def send_replies(replies: Iterable[tuple[Call[Any, Any], object]]) -> None:
    """Give each call its result or exception, waking each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], object]]] = {}
    for call, reply in replies:
        by_loop.setdefault(call.loop, []).append((call.future, reply))
    for loop, settled in by_loop.items():
        wake(loop, _settle, settled)


def wake(loop: asyncio.AbstractEventLoop, callback: Callable[[T], object], argument: T) -> None:
    """Have an event loop call back; one that is closed has nobody left who waits."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, argument)


def _settle(settled: list[tuple[asyncio.Future[Any], object]]) -> None:
    for future, reply in settled:
        if future.done():
            continue
        if isinstance(reply, BaseException):
            future.set_exception(reply)
        else:
            future.set_result(reply)
