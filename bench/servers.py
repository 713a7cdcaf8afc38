"""The processes that are measured: the product as it is started by its command, and two echoes to compare it with."""

import contextlib
import dataclasses
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

_PORT: Final = re.compile(r"http://127\.0\.0\.1:([0-9]+)")
_SECONDS_TO_STOP: Final = 30.0


Database: TypeAlias = Mapping[str, str]
"""The variables that name a database to a command."""


def file(path: Path) -> Database:
    """Return what names a SQLite file."""
    return {"PAUSEMESH_DATABASE_PATH": str(path)}


def schema(url: str) -> Database:
    """Return what names the product's schema on a PostgreSQL server."""
    return {"PAUSEMESH_DATABASE_URL": url, "PAUSEMESH_SECRET_KEYS": secrets.token_hex(32)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Return how long its threads have worked since it was started."""
        return cpu_seconds(self.pid)

    def resident_bytes(self) -> int:
        """Return how much memory it holds."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return how long the threads of a process have worked since it was started, where Linux tells."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def product(database: Database) -> Iterator[Server]:
    """Run the real server on a database, quiet about what goes well."""
    options = ["--port", "0", "--log-level", "warning", "--mutations-per-minute", "100000"]
    with _running("pausemesh", "serve", *options, database=database) as server:
        yield server


@contextlib.contextmanager
def echo(kind: str) -> Iterator[Server]:
    """Run one of the echoes."""
    with _running("bench.echoes", kind) as server:
        yield server


def make_key(database: Database, role: str) -> str:
    """Return an API key for a database."""
    command = [sys.executable, "-m", "pausemesh", "keys", "create", "--role", role]
    environment = {**os.environ, **database}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@contextlib.contextmanager
def _running(*arguments: str, database: Database = MappingProxyType({})) -> Iterator[Server]:
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **database}) as process:
        try:
            assert process.stdout is not None, "it is a pipe"
            said = process.stdout.readline()
            found = _PORT.search(said)
            if found is None:
                message = f"{arguments[0]} did not start: {said}"
                raise AssertionError(message)
            yield Server(pid=process.pid, port=int(found[1]))
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                process.kill()
