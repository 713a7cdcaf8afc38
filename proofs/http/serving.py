"""The server that is killed: the real one, on a port that outlives it and on what is kept, such as a file."""

import abc
import asyncio
import contextlib
import dataclasses
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

import uvloop

import pausemesh
from pausemesh import SqliteEventStore
from pausemesh.ports import EventStore
from pausemesh.records import CrashPoint
from pausemesh.server.app import PauseMeshApp, create_app
from pausemesh.server.process import Process, listen
from pausemesh.server.serving import ReadinessProbe
from pausemesh.server.settings import LogLevel, Parser
from pausemesh.telemetry.log import configure_log
from proofs.children import Voice
from proofs.clocks import AheadClock

_ANY_NUMBER: Final = 10**6


class CheckedStore(EventStore, ReadinessProbe, Protocol):
    """A store that knows whether it is ready."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Service(abc.ABC):
    """What a server serves, whatever it is kept in.

    Attributes:
        port: where it listens.
        ahead: by how much its clock is ahead of the true time.
        parser: which HTTP parser it reads requests with.
        log_level: from which on it logs.
    """

    port: int
    ahead: timedelta = timedelta(0)
    parser: Parser = "httptools"
    log_level: LogLevel = "warning"

    def __call__(self, voice: Voice) -> None:
        """Serve until the process is killed; say so as soon as requests are accepted."""
        configure_log(self.log_level, sys.stderr)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(voice))

    async def _serve(self, voice: Voice) -> None:
        clock = AheadClock(self.ahead)
        async with self.opened(clock) as store, pausemesh.open(store, clock=clock) as mesh:
            app = create_app(mesh, readiness_probe=store, is_loopback=True, mutations_per_minute=_ANY_NUMBER)
            with contextlib.closing(listen("127.0.0.1", self.port)) as bound:
                await _HeardProcess(app, voice, self.parser).serve([bound])

    @abc.abstractmethod
    def opened(self, clock: AheadClock) -> AbstractAsyncContextManager[CheckedStore]:
        """Open the store for the length of a block."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FileService(Service):
    """One on a file.

    Attributes:
        path: of the file.
        store: the kind of store.
        fault: where it kills itself, if it does.
    """

    path: Path
    store: type[SqliteEventStore] = SqliteEventStore
    fault: Callable[[CrashPoint], None] | None = None

    @asynccontextmanager
    async def opened(self, clock: AheadClock) -> AsyncIterator[CheckedStore]:
        """Open the store for the length of a block."""
        store = await self.store.open(self.path, clock, fault=self.fault)
        try:
            yield store
        finally:
            await store.close()


class _HeardProcess(Process):
    """Says when it is up."""

    def __init__(self, app: PauseMeshApp, voice: Voice, parser: Parser) -> None:
        super().__init__(app, parser=parser)
        self._voice = voice

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._voice.say(up=True)


def reserve_port() -> socket.socket:
    """Return a socket that keeps a free port for servers that come and go; it never listens itself."""
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
    except BaseException:
        reserved.close()
        raise
    return reserved
