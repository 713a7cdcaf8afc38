"""The process that serves an app: uvicorn with strict parsers, which stops cleanly and once."""

import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import uvicorn

from pausemesh.server import limits
from pausemesh.server.app import PauseMeshApp
from pausemesh.server.protocols import StrictH11Protocol, StrictHttpToolsProtocol
from pausemesh.telemetry.log import logger

Parser = Literal["httptools", "h11"]

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

_SWITCH_SECONDS: Final = 0.0005
"""How soon a thread of the store gets its turn beside a busy event loop; Python's own 5 ms would double a write."""


_LOG: Final = logger("pausemesh.process")


class Process(uvicorn.Server):
    """One server process."""

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
            timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=limits.STOP_SECONDS,
        )
        super().__init__(config)

    async def serve(self, sockets: Sequence[socket.socket] | None = None) -> None:
        """Serve on sockets that listen, until SIGTERM or SIGINT."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        _LOG.info("serving")
        try:
            await super().serve(None if sockets is None else list(sockets))
        finally:
            sys.setswitchinterval(before)
            _LOG.info("stopped")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as a wish to stop, and as nothing more: what was opened is closed afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let requests in flight end and those that only wait answer at once."""
        _LOG.info("stopping")
        self._app.serving.stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; port 0 takes a free one.

    Raises:
        OSError: the address cannot be had.
    """
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound
