"""Threads for the caller's plain functions, which nothing can stop and nobody should have to wait for."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


class DaemonThreads(ThreadPoolExecutor):
    """Runs each function in a daemon thread of its own.

    The threads of a pool are waited for when the interpreter exits, and they can all be taken by functions that wait
    for one that gets none.
    """

    def submit(self, fn: Callable[..., ResultT], /, *args: Any, **kwargs: Any) -> Future[ResultT]:
        """Begin to run it."""
        future: Future[ResultT] = Future()
        future.set_running_or_notify_cancel()
        work = functools.partial(fn, *args, **kwargs)
        threading.Thread(target=_settle, args=(future, work), name="pausemesh-function", daemon=True).start()
        return future


def _settle(future: Future[ResultT], work: Callable[[], ResultT]) -> None:
    try:
        future.set_result(work())
    except StopIteration as error:
        # asyncio takes no such exception from a thread, and whoever awaits it would never hear of it.
        failure = RuntimeError("A function raised StopIteration.")
        failure.__cause__ = error
        future.set_exception(failure)
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is waited for
        future.set_exception(error)
