"""A program on a pseudo-terminal, as a person sees it and types into it."""

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

SECONDS = 30.0
PAUSEMESH = (sys.executable, "-m", "pausemesh")
_STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Runs ``pausemesh`` with these words; entered as a block, it is killed at the end if it still runs."""

    def __init__(
        self, *words: str, env: dict[str, str], folder: Path, columns: int = 100, program: Sequence[str] = PAUSEMESH
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [*program, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env={**env, "TERM": "xterm", "COLUMNS": str(columns)},
            start_new_session=True,
        )
        os.close(slave)
        self.raw = ""
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        """All that was printed, without colours."""
        return _STYLES.sub("", self.raw).replace("\r\n", "\n")

    def see(self, wanted: str) -> str:
        """Wait until ``wanted`` is printed after what was seen before, and return what was printed until then."""
        limit = time.monotonic() + SECONDS
        while (found := self.text.find(wanted, self._read)) < 0:
            if not self._receive(limit):
                message = f"{wanted!r} was not printed after {self.text[self._read :]!r}"
                raise AssertionError(message)
        before, self._read = self.text[self._read : found], found + len(wanted)
        return before

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._master, f"{line}\n".encode())

    def press(self, key: str) -> None:
        """Press Ctrl and a key."""
        os.write(self._master, bytes([ord(key) - ord("a") + 1]))

    def drain(self) -> None:
        """Read what is there, so that no program waits for somebody to read."""
        while self._receive(time.monotonic()):
            pass

    def interrupt(self) -> int:
        """Press Ctrl-C, and once more where readline missed it, and return the exit code."""
        limit = time.monotonic() + SECONDS
        while self._process.poll() is None and time.monotonic() < limit:
            self._process.send_signal(signal.SIGINT)
            patience = time.monotonic() + 3.0
            while self._process.poll() is None and time.monotonic() < patience:
                self._receive(time.monotonic() + 0.1)
        return self.end()

    def end(self) -> int:
        """Wait until it has ended, and return its exit code."""
        limit = time.monotonic() + SECONDS
        while self._receive(limit):
            pass
        return self._process.wait(SECONDS)

    def _receive(self, limit: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, limit - time.monotonic()))
        data = b""
        if ready:
            with contextlib.suppress(OSError):  # nobody holds the other side any more
                data = os.read(self._master, 65_536)
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
