"""A call on its way to one of the tasks of a store, and who waits for it."""

import asyncio
import time
from typing import Any, Generic, TypeVar

WorkT = TypeVar("WorkT")


class Asked(Generic[WorkT]):
    """One call and who waits for it.

    Attributes:
        work: what it asks for.
        deadline: by ``time.monotonic``; what was not sent by then is not sent any more.
        future: of its outcome; done, but for a reply, once nobody waits any more.
        is_sent: it may be stored from now on.
    """

    __slots__ = ("deadline", "future", "is_sent", "work")

    def __init__(self, work: WorkT, *, seconds: float) -> None:
        self.work = work
        self.deadline = time.monotonic() + seconds
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.is_sent = False

    def settle(self, reply: object) -> None:
        """Give the reply, or raise it, where somebody still waits."""
        if self.future.done():
            return
        if isinstance(reply, BaseException):
            self.future.set_exception(reply)
        else:
            self.future.set_result(reply)
