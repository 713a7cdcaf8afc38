"""Lines on their way to a stream that perhaps nobody reads: no caller waits for it, and no end of the process."""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TextIO

LINES_MOST: Final = 10_000
CLOSE_SECONDS: Final = 2.0


class BackgroundLines:
    """Hands lines to a thread that writes them; what does not fit is dropped and counted.

    Args:
        stream: where they go; once a write blocks, only this object's thread waits for it.
        dropped: makes the line that tells how many were dropped, once there is room again.
        most: how many lines wait at most.
    """

    def __init__(self, stream: TextIO, dropped: Callable[[int], str], *, most: int = LINES_MOST) -> None:
        self._stream = stream
        self._file = _file_of(stream)
        self._dropped_line = dropped
        self._most = most
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="pausemesh-log", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        """Take a line without waiting for anything but another thread's taking one."""
        with self._changed:
            if self._is_closed:
                return
            if len(self._lines) >= self._most:
                self._dropped += 1
                return
            self._lines.append(line)
            self._changed.notify()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write what is left, for as long as this at most; later lines are dropped."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (line := self._next()) is not None:
            # The line is lost where it cannot be written, or made: nobody could be told.
            with contextlib.suppress(OSError, ValueError):
                self._write(self._dropped_line(line) if isinstance(line, int) else line)

    def _next(self) -> str | int | None:
        """Wait for a line, or for how many were dropped; None once all is said."""
        with self._changed:
            while not (self._lines or self._dropped or self._is_closed):
                self._changed.wait()
            if self._dropped and len(self._lines) <= self._most // 2:
                count, self._dropped = self._dropped, 0
                return count
            return self._lines.popleft() if self._lines else None

    def _write(self, line: str) -> None:
        """Write past the stream's buffer: whose lock this thread held while it waits, could not end the process."""
        if self._file is None:
            self._stream.write(line)
            self._stream.flush()
            return
        left = line.encode("utf-8", "backslashreplace")
        while left:
            left = left[os.write(self._file, left) :]


def _file_of(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
