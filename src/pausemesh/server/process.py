"""The process that serves an app: uvicorn with strict parsers, which stops cleanly and once."""

import contextlib
import gc
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

import uvicorn

from pausemesh.server import limits
from pausemesh.server.app import PauseMeshApp
from pausemesh.server.protocols import StrictH11Protocol, StrictHttpToolsProtocol
from pausemesh.server.settings import Parser
from pausemesh.telemetry.log import logger

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

_SWITCH_SECONDS: Final = 0.0005
"""How soon a thread of the store gets its turn beside a busy event loop; Python's own 5 ms would double a write."""


_LOG: Final = logger("pausemesh.process")


class StopSignals:
    """SIGTERM and SIGINT as one wish to stop, for the length of a ``with`` block.

    They are heard from before anything is opened until all of it is closed: whenever the first one comes, the process
    ends as it should, and the others change nothing. After one has come, none is heard any more.
    """

    def __init__(self) -> None:
        self._is_wished = False
        self._process: Process | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Listen; there is nothing to hear outside of the main thread."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in _STOPPING}
        return self

    def __exit__(self, *_error: object) -> None:
        """Listen no more."""
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self._is_wished else handler)

    def stop(self, process: "Process") -> None:
        """Let a process know of the wish, now or once it comes."""
        self._process = process
        process.should_exit |= self._is_wished

    def _take(self, _number: int, _frame: object) -> None:
        self._is_wished = True
        if self._process is not None:
            self._process.should_exit = True


class Process(uvicorn.Server):
    """One server process; who starts it says when it stops, by ``should_exit``."""

    def __init__(self, app: PauseMeshApp, *, parser: Parser = "httptools", trusted_proxies: str | None = None) -> None:
        self._app = app
        config = uvicorn.Config(
            app,
            http=StrictHttpToolsProtocol if parser == "httptools" else StrictH11Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=trusted_proxies is not None,
            forwarded_allow_ips=trusted_proxies,
            backlog=limits.BACKLOG,
            timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=limits.STOP_SECONDS,
        )
        super().__init__(config)

    async def serve(self, sockets: Sequence[socket.socket] | None = None) -> None:
        """Serve on sockets that listen, until it is to stop."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was loaded until here stays, and need not be looked at again and again
        _LOG.info("serving")
        try:
            await super().serve(None if sockets is None else list(sockets))
        finally:
            gc.unfreeze()
            sys.setswitchinterval(before)
            _LOG.info("stopped")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: what was opened before this has to be closed after it."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let requests in flight end and those that only wait answer at once."""
        _LOG.info("stopping")
        self._app.serving.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that whoever is told of it is let in; port 0 takes a free one.

    Raises:
        OSError: the address cannot be had.
    """
    name = host.removeprefix("[").removesuffix("]")  # an IPv6 address as it stands in a URL
    family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(limits.BACKLOG)
    except BaseException:
        bound.close()
        raise
    return bound
