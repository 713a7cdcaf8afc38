"""A thread of a store, and how an event loop waits for its end."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future


class Background:
    """A daemon thread: what it has in hand when the interpreter exits was not acknowledged yet."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._ended: Future[None] = Future()
        self._ended.set_running_or_notify_cancel()  # so that no waiter can cancel it
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    async def ended(self) -> None:
        """Wait until the thread has ended; raises what ended it."""
        await asyncio.wrap_future(self._ended)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the end is waited for
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)
