"""The examples as processes of their own, in a folder of their own."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, TypeVar

from tests.environment import without_settings

T = TypeVar("T")

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
SECONDS: Final = 30.0
"""How long anything is waited for before a test gives up."""


class Programs:
    """Starts programs in a folder; those that still run at the end are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start Python with these words, and with the examples to import from."""
        kept = without_settings()
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(EXAMPLES), "NO_PROXY": "127.0.0.1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        """End what is left."""
        for process in self._started:
            kill(process)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for its end; return its exit code and what it printed."""
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def kill(process: subprocess.Popen[str]) -> None:
    """End it with -9, as it stands."""
    process.kill()
    process.wait(SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def address(stream: IO[str] | None) -> str:
    """The address that a server prints when it listens; what it prints later fits into the pipe."""
    assert stream is not None
    for line in stream:
        found = re.search(r"http://[0-9.]+:\d+", line)
        if found is not None:
            return found[0]
    raise AssertionError("it ended without an address")


def eventually(look: Callable[[], T | None]) -> T:
    """Return what ``look`` finds, as soon as it is there."""
    limit = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < limit, "it did not come"
        time.sleep(0.01)
    return found


def lines(file: Path) -> list[str]:
    """The lines of a file; none where it is not there yet."""
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def read_from(fifo: Path) -> str:
    """Return what somebody writes into a named pipe, as soon as it is there."""
    with open(fifo, "rb", buffering=0, opener=_without_waiting) as pipe:
        found: bytes = eventually(lambda: pipe.read(1_024))
        return found.decode()


def write_into(fifo: Path, text: str) -> None:
    """Write into a named pipe, as soon as somebody reads from it."""

    def write() -> int | None:
        with contextlib.suppress(OSError), open(fifo, "wb", buffering=0, opener=_without_waiting) as pipe:
            return pipe.write(text.encode())
        return None

    eventually(write)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC) | os.O_NONBLOCK)
