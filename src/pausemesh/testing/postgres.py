"""A PostgreSQL server of one's own for tests, trials, proofs and measurements; nothing has to be installed for it.

``PostgresServer.start()`` runs the server that the extra ``testing`` brings, or one whose programs are named. It runs
as an unprivileged account where this process is root, and ends with this process. Not for Windows.
"""

import contextlib
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import Final, Self

import psutil

from pausemesh.testing.postgres_address import PostgresAddress
from pausemesh.testing.postgres_binaries import give, installed_binaries, run_program, start_program
from pausemesh.testing.postgres_watcher import DATA, folder_of_its_own, kill_in, processes_in, remove_lock

URL_VARIABLE: Final = "PAUSEMESH_TEST_POSTGRES_URL"
"""Names a server that tests shall use, by the address of a superuser."""

BINARIES_VARIABLE: Final = "PAUSEMESH_TEST_POSTGRES_BINARIES"
"""Names a folder of programs that tests shall run, such as ``pg_config --bindir`` prints."""

_HOST: Final = "127.0.0.1"
_SUPERUSER: Final = "postgres"
_SECONDS_TO_START: Final = 60
_SECONDS_TO_STOP: Final = 60
_LOOK_SECONDS: Final = 0.01
_STATUS_LINE: Final = 7
"""Which line of postmaster.pid says whether connections are accepted, counted from 0."""

_SETTINGS: Final = {
    "listen_addresses": _HOST,
    "wal_level": "replica",
    "max_wal_senders": "10",
    "max_connections": "200",
    # Kept in a file of the data directory, where nothing is left behind by kill -9.
    "dynamic_shared_memory_type": "mmap",
}


class PostgresServer(PostgresAddress):
    """A server that runs in a temporary folder; methods block, and any thread may call them, one at a time.

    Attributes:
        port: where it listens on 127.0.0.1; it stays the same when it is started again.
        data: its data directory.
        log: the file of what it says.
        binaries: the folder of its programs.
    """

    def __init__(self, folder: Path, binaries: Path, settings: Mapping[str, str]) -> None:
        self.port = _free_port()
        super().__init__(f"postgresql://{_SUPERUSER}@{_HOST}:{self.port}/postgres")
        self.data = folder / DATA
        self.log = folder / "log"
        self.binaries = binaries
        self._folder = folder
        self._settings = settings
        self._process: Popen[bytes] | None = None

    @classmethod
    def start(
        cls, *, binaries: Path | None = None, settings: Mapping[str, str] | None = None, durable: bool = False
    ) -> Self:
        """Make a database cluster and serve it.

        Args:
            binaries: the folder of ``initdb`` and ``postgres``; by default those of the extra ``testing``.
            settings: of the server, in place of its defaults and ours.
            durable: False turns fsync off, which is quicker and loses data when the machine fails.

        Raises:
            RuntimeError: the programs are not there, or failed.
        """
        chosen = {**_SETTINGS, "fsync": "on" if durable else "off", **(settings or {})}
        server = cls(_new_folder(), binaries or installed_binaries(), chosen)
        with server._removed_if_it_fails():
            options = ["-U", _SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
            server._run("initdb", "-D", str(server.data), *options)
            server.start_again()
        return server

    @property
    def pid(self) -> int:
        """The process id of the postmaster.

        Raises:
            RuntimeError: it was stopped or killed.
        """
        if self._process is None:
            raise RuntimeError("The server is not running.")
        return self._process.pid

    def start_again(self) -> None:
        """Serve the same data at the same port, after ``stop`` or ``kill``; return when it accepts connections.

        Raises:
            RuntimeError: it ended, or did not get that far in time; with what it said.
        """
        assert self._process is None, "it runs already"
        settings = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self._folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        program = self.binaries / "postgres"
        self._process = start_program([program, "-D", self.data, *options], self.data, self.log)
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._accepts(self._process):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log.read_text()}")
            time.sleep(_LOOK_SECONDS)

    def stop(self) -> None:
        """Stop it in order, without waiting for clients; what it holds stays.

        Raises:
            subprocess.TimeoutExpired: it did not stop.
        """
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_SECONDS_TO_STOP)
            self._process = None

    def kill(self) -> None:
        """Kill all its processes, as ``kill -9`` does; none is left when this returns, and it can be started again."""
        kill_in(self.data)
        if self._process is not None:
            self._process.wait()
            self._process = None
        remove_lock(self.data)

    def pause(self) -> None:
        """Let all its processes stand still, as a machine that hangs; connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)
        while running := [process for process in processes_in(self.data) if not _stands_still(process)]:
            for process in running:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()

    def resume(self) -> None:
        """Let it go on after ``pause``."""
        for process in processes_in(self.data):
            process.resume()

    def standby(self, name: str = "standby") -> "PostgresServer":
        """Return a standby that follows this server by streaming; end it with its own ``close``.

        Args:
            name: its application name, by which ``synchronous_standby_names`` may count on it.

        Raises:
            RuntimeError: it could not be made.
        """
        standby = PostgresServer(_new_folder(), self.binaries, self._settings)
        primary = f"host={_HOST} port={self.port} user={_SUPERUSER} application_name={name}"
        with standby._removed_if_it_fails():
            options = ["-X", "stream", "-R", "--checkpoint=fast", "--no-sync"]
            standby._run("pg_basebackup", "-D", str(standby.data), "-d", primary, *options)
            standby.start_again()
        return standby

    def promote(self) -> None:
        """Make a standby a server that accepts writes; return when it does.

        Raises:
            RuntimeError: it is no standby.
        """
        self._run("pg_ctl", "promote", "-w", "-D", str(self.data))

    def close(self) -> None:
        """Kill it and remove all it wrote; again is harmless."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, program: str, *arguments: str) -> None:
        run_program([self.binaries / program, *arguments], self._folder)

    def _accepts(self, process: Popen[bytes]) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > _STATUS_LINE and lines[0] == str(process.pid) and lines[_STATUS_LINE].strip() == "ready"

    @contextlib.contextmanager
    def _removed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


@contextlib.contextmanager
def server_for_tests() -> Iterator[PostgresAddress]:
    """Yield the server that ``PAUSEMESH_TEST_POSTGRES_URL`` names, else one of its own that ends afterwards.

    What it runs is told by ``binaries_for_tests``.
    """
    if url := os.environ.get(URL_VARIABLE):
        yield PostgresAddress(url)
        return
    with PostgresServer.start(binaries=binaries_for_tests()) as server:
        yield server


def binaries_for_tests() -> Path | None:
    """Return the folder that ``PAUSEMESH_TEST_POSTGRES_BINARIES`` names; None for those of the extra ``testing``."""
    folder = os.environ.get(BINARIES_VARIABLE)
    return Path(folder) if folder else None


def _new_folder() -> Path:
    folder = folder_of_its_own("pausemesh-postgres-")
    give(folder)
    return folder


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        port: int = listener.getsockname()[1]
        return port


def _stands_still(process: psutil.Process) -> bool:
    try:
        return process.status() in {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return True
