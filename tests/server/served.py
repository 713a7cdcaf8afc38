"""``pausemesh serve`` as a process of its own, as people start it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

import pausemesh
from tests.server.harness import SECONDS, Client, Wire


class Served:
    """A server process on a free port, which ends with the block; on a file in a folder, or as the environment says."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        launcher: tuple[str, ...] = (),
        database: Path | None = None,
        port: int = 0,
        **environment: str,
    ) -> None:
        self.folder = folder
        self.database = database or folder / "q.db"
        self.log = folder / f"log.{time.monotonic_ns()}"
        self._port_file = folder / f"port.{time.monotonic_ns()}"
        self._words = ("--port", str(port), "--port-file", str(self._port_file), *words)
        self._launcher = launcher or (sys.executable, "-m", "pausemesh")
        self._environment = environment
        self.process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        is_file = "PAUSEMESH_DATABASE_URL" not in self._environment
        named = ["--database-path", str(self.database)] if is_file else []
        command = [*self._launcher, "serve", *named, *self._words]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], **self._environment},
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS)

    @property
    def port(self) -> int:
        """Where it listens; waits until it does."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                return int(self._port_file.read_text(encoding="ascii"))
            time.sleep(0.002)
        raise AssertionError(self.said)

    @property
    def said(self) -> str:
        """What it printed and logged so far."""
        return self.log.read_text(encoding="utf-8")

    def client(self, key: str | None = None) -> Client:
        """Return a client of it."""
        return Client(self.port, key)

    def wire(self) -> Wire:
        """Return a connection to it."""
        return Wire(self.port)

    def signal(self, number: int = signal.SIGTERM) -> Self:
        """Send it a signal."""
        self.process.send_signal(number)
        return self

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(SECONDS)

    def wait(self) -> int:
        """Return the status with which it ends."""
        return self.process.wait(SECONDS)

    def until_refused(self) -> bool:
        """Wait until nobody new is let in."""
        return self.until(self._refuses)

    def _refuses(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return True
        return False

    def until(self, is_so: Callable[[], bool]) -> bool:
        """Wait until something is so; False where it never was."""
        deadline = time.monotonic() + SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    @property
    def leftovers(self) -> list[str]:
        """The files beside the database that a store leaves which was not closed."""
        return sorted(file.name for file in self.folder.glob("q.db-*"))


ANY_KEY: Final = "admin"


def key_of(database: Path, role: str = ANY_KEY) -> str:
    """Make an API key as the command does, in another process than the server's."""
    with pausemesh.open_sync(database) as mesh:
        return mesh.create_key(role).text
