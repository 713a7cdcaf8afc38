"""No server outlives whoever started it: a small process waits for that one's end, however it comes, and cleans up.

It hears through a pipe of folders, one a line. The pipe ends with the process that holds its other end, by kill -9
too; then whatever still runs in one of the folders is killed, and the folders are removed.
"""

import contextlib
import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Final

import psutil

DATA: Final = "data"
"""The data directory's name in the folder of a server."""

_SECONDS_TO_DIE: Final = 10
_LOOK_SECONDS: Final = 0.005
_SHARED_MEMORY_LINE: Final = 6
"""Which line of postmaster.pid has the key and id of the shared memory, counted from 0."""

_IPC_RMID: Final = 0


def folder_of_its_own(prefix: str) -> Path:
    """Make a temporary folder that goes, with whatever runs in it, when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    pipe = _watcher(os.getpid()).stdin
    assert pipe is not None
    pipe.write(f"{folder}\n".encode())
    pipe.flush()
    return folder


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return the processes whose working directory is the folder or below it, oldest first.

    Each process of a PostgreSQL server works in the data directory, and the postmaster is its oldest.
    """
    found = [process for process in psutil.process_iter() if _works_in(process, folder)]
    return sorted(found, key=_age)


def kill_in(folder: Path) -> None:
    """Kill what works in a folder until nothing does, the oldest first.

    Raises:
        RuntimeError: something could not be killed.
    """
    deadline = time.monotonic() + _SECONDS_TO_DIE
    killed: set[psutil.Process] = set()
    while dying := {*processes_in(folder), *filter(_lives, killed)}:
        if time.monotonic() > deadline:
            raise RuntimeError(f"Processes could not be killed: {dying}")
        for process in sorted(dying - killed, key=_age):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killed |= dying
        time.sleep(_LOOK_SECONDS)


def remove_lock(data: Path) -> None:
    """Remove what a killed postmaster leaves to tell that it runs: a file, and a few bytes of shared memory.

    By the next start its process id may be somebody else's, which then would be refused.
    """
    lock = data / "postmaster.pid"
    if lock.is_file():
        lines = lock.read_text().splitlines()
        key_and_id = lines[_SHARED_MEMORY_LINE].split() if len(lines) > _SHARED_MEMORY_LINE else []
        if key_and_id:
            ctypes.CDLL(None).shmctl(int(key_and_id[1]), _IPC_RMID, None)
        lock.unlink()


def _age(process: psutil.Process) -> tuple[float, int]:
    return process.create_time(), process.pid


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(folder)
    except psutil.Error:  # it ended, or it is somebody else's
        return False


@functools.cache
def _watcher(_process: int) -> subprocess.Popen[bytes]:
    """Start one for this process; a forked child gets one of its own."""
    command = [sys.executable, "-m", __name__]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)


def _watch(pipe: IO[bytes]) -> None:
    folders = [Path(os.fsdecode(line.rstrip(b"\n"))) for line in pipe]
    for folder in folders:
        with contextlib.suppress(RuntimeError):
            kill_in(folder)
            remove_lock(folder / DATA)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _watch(sys.stdin.buffer)
