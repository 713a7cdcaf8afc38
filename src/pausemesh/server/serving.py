"""What all requests to one server share: the meshes of its scopes, its patience, its limits, its counts."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol, TypeVar

from starlette.types import Receive

from pausemesh.core.errors import Overloaded
from pausemesh.core.limits import JsonLimits
from pausemesh.ports import RateLimiter
from pausemesh.server import limits
from pausemesh.server.authentication import Callers
from pausemesh.server.body import limits_of_body
from pausemesh.server.channel import Channel
from pausemesh.service.mesh import Mesh
from pausemesh.telemetry.metrics import Metrics

T = TypeVar("T")


class ReadinessProbe(Protocol):
    """Knows whether requests can be served; a store is one."""

    async def check_ready(self) -> None:
        """Pass where everything is as it must be.

        Raises:
            StoreError: it is not.
        """
        ...


class Served:
    """What the requests of one scope share: its mesh, and the channel of those who follow it."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.channel = Channel(mesh.changes)


class Serving:
    """One server over one mesh."""

    def __init__(
        self,
        mesh: Mesh,
        *,
        callers: Callers,
        limiter: RateLimiter,
        metrics: Metrics,
        json_limits: JsonLimits,
        mutations_per_minute: int,
        readiness_probe: ReadinessProbe | None,
        public_url: str | None,
    ) -> None:
        self.callers = callers
        self.limiter = limiter
        self.metrics = metrics
        self.json_limits = json_limits
        self.body_limits = limits_of_body(json_limits)
        self.mutations_per_minute = mutations_per_minute
        self.readiness_probe = readiness_probe
        self.public_url = public_url
        self.stopping = asyncio.Event()
        self.in_flight = 0
        self.subscribers = 0
        self._own = Served(mesh)
        self._others: OrderedDict[str, Served] = OrderedDict()
        self._waiting: set[asyncio.Task[Any]] = set()

    def of(self, scope: str | None) -> Served:
        """Return what a scope's requests share; None: the scope of the mesh that is served."""
        if scope is None or scope == self._own.mesh.scope:
            return self._own
        found = self._others.get(scope)
        if found is None:
            found = self._others[scope] = Served(self._own.mesh.in_scope(scope))
            if len(self._others) > limits.SCOPES_REMEMBERED:
                self._others.popitem(last=False)
        self._others.move_to_end(scope)
        return found

    def require_room(self) -> None:
        """Pass while not too many requests are worked on.

        Raises:
            Overloaded: there are.
        """
        if self.in_flight > limits.REQUESTS_IN_FLIGHT:
            raise Overloaded

    @contextlib.contextmanager
    def set_aside(self) -> Iterator[None]:
        """Count a request as one that only waits, for its body or for a decision, for as long as the block runs."""
        self.in_flight -= 1
        try:
            yield
        finally:
            self.in_flight += 1

    async def patiently(self, receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what ``work`` waits for; None where the client goes or the server stops before it is there.

        It takes no thread, and does not count as a request in flight.

        Raises:
            Overloaded: too many wait.
        """
        if len(self._waiting) >= limits.WAITING or self.stopping.is_set():
            work.close()
            raise Overloaded
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(disconnected(receive))
        self._waiting.add(task)
        try:
            with self.metrics.waiting(), self.set_aside():
                await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            return await _ended(task)
        finally:
            self._waiting.discard(task)
            task.cancel()
            gone.cancel()

    @contextlib.contextmanager
    def subscribed(self) -> Iterator[None]:
        """Count a client that follows what happens.

        Raises:
            Overloaded: too many do, or the server stops.
        """
        if self.subscribers >= limits.SUBSCRIBERS or self.stopping.is_set():
            raise Overloaded
        self.subscribers += 1
        try:
            with self.metrics.subscribed(), self.set_aside():
                yield
        finally:
            self.subscribers -= 1

    def stop(self) -> None:
        """Let nobody wait any more."""
        self.stopping.set()
        for task in self._waiting:
            task.cancel()


async def disconnected(receive: Receive) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(task: "asyncio.Task[T]") -> T | None:
    """Return what a task gave; None where it was cancelled, or is now."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    return None if task.cancelled() else task.result()
