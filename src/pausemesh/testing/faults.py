"""What happens at a named crash point: the process dies, or the code there raises."""

import os
import signal
from collections.abc import Callable

from pausemesh.records import CrashPoint


class CrashAt:
    """A fault hook that kills its own process with SIGKILL, as a power cut or an operator would.

    Args:
        point: where.
        after: how often the point is passed unharmed before.
    """

    def __init__(self, point: CrashPoint, *, after: int = 0) -> None:
        self._point = point
        self._left = after

    def __call__(self, point: CrashPoint) -> None:
        """Die, if it is time."""
        if point is not self._point:
            return
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


class RaiseAt:
    """A fault hook that raises.

    Args:
        point: where.
        error: makes what is raised.
        after: how often the point is passed unharmed before.
        times: how often it raises.
    """

    def __init__(
        self, point: CrashPoint, error: Callable[[], Exception] = RuntimeError, *, after: int = 0, times: int = 1
    ) -> None:
        self._point = point
        self._error = error
        self._raising = range(after, after + times)
        self._passed = 0

    def __call__(self, point: CrashPoint) -> None:
        """Raise, if it is time."""
        if point is not self._point:
            return
        passed, self._passed = self._passed, self._passed + 1
        if passed in self._raising:
            raise self._error()
