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
        self._mesh = mesh
        self._meshes: OrderedDict[str, Mesh] = OrderedDict()
        self._channels: OrderedDict[str, Channel] = OrderedDict()
        self._waiting: set[asyncio.Task[Any]] = set()

    def mesh_of(self, scope: str | None) -> Mesh:
        """Return the mesh of a scope; None: the one that is served."""
        name = self._mesh.scope if scope is None else scope
        if name == self._mesh.scope:
            return self._mesh
        mesh = self._meshes.get(name)
        if mesh is None:
            mesh = self._meshes[name] = self._mesh.in_scope(name)
            if len(self._meshes) > limits.SCOPES_REMEMBERED:
                self._meshes.popitem(last=False)
        self._meshes.move_to_end(name)
        return mesh

    def channel_of(self, mesh: Mesh) -> Channel:
        """Return the channel of a mesh's scope."""
        channel = self._channels.get(mesh.scope)
        if channel is None:
            channel = self._channels[mesh.scope] = Channel(mesh.changes)
            if len(self._channels) > limits.SCOPES_REMEMBERED:
                self._channels.popitem(last=False)
        self._channels.move_to_end(mesh.scope)
        return channel

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
