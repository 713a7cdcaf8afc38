"""The ASGI app: every operation at its path, behind the one order of checks."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from pausemesh.adapters.rate_limiter import MemoryRateLimiter
from pausemesh.core.limits import JsonLimits
from pausemesh.ports import RateLimiter
from pausemesh.server import limits
from pausemesh.server.authentication import ApiKeyAuthenticator, Authenticator, Callers
from pausemesh.server.endpoint import Endpoint
from pausemesh.server.errors import RouteNotFound
from pausemesh.server.exchange import Exchange
from pausemesh.server.loops import running_loops
from pausemesh.server.operation import Access, Operation
from pausemesh.server.routes import claims, continuations, events, health
from pausemesh.server.routes.docs import docs_operations
from pausemesh.server.serving import ReadinessProbe, Serving
from pausemesh.service.mesh import Mesh
from pausemesh.telemetry.metrics import Metrics

OPERATIONS: Final[tuple[Operation, ...]] = (
    *continuations.OPERATIONS,
    *claims.OPERATIONS,
    *events.OPERATIONS,
    *health.OPERATIONS,
    *docs_operations(lambda: OPERATIONS),
)


class PauseMeshApp:
    """The HTTP interface of a mesh, as an ASGI app of its own or mounted into another."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        public = frozenset(operation.path for operation in OPERATIONS if operation.access is Access.PUBLIC)
        self._exchange = Exchange(_router(OPERATIONS, serving), serving, public=public)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] == "http":
            await self._exchange(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what runs every few seconds; a host that mounts this app enters it for the length of its own life."""
        async with running_loops(self.serving):
            try:
                yield
            finally:
                self.serving.stop()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def create_app(
    mesh: Mesh,
    *,
    authenticator: Authenticator | None = None,
    readiness_probe: ReadinessProbe | None = None,
    limiter: RateLimiter | None = None,
    metrics: Metrics | None = None,
    json_limits: JsonLimits | None = None,
    mutations_per_minute: int = limits.MUTATIONS_PER_MINUTE,
    is_loopback: bool = False,
    public_url: str | None = None,
) -> PauseMeshApp:
    """Return the HTTP interface of a mesh.

    Args:
        mesh: an open one; it stays the caller's to close.
        authenticator: the host's own way to tell who calls; API keys of the mesh where it is left out.
        readiness_probe: what ``/readyz`` asks, usually the store; without one it answers ``not_configured``.
        limiter: counts what operators do; in memory where it is left out.
        metrics: what ``/metrics`` shows; pass the one that observes the mesh, too.
        json_limits: the policy's, if it is not the default one; ``max_bytes`` bounds bodies, too.
        mutations_per_minute: how many answers an operator may give.
        is_loopback: the app is reached from this machine alone; it is then open until the first API key exists.
        public_url: where clients reach it, for what describes it.
    """
    serving = Serving(
        mesh,
        callers=Callers(mesh, authenticator or ApiKeyAuthenticator(mesh), is_loopback=is_loopback),
        limiter=limiter or MemoryRateLimiter(),
        metrics=metrics or Metrics(paths()),
        json_limits=json_limits or JsonLimits(),
        mutations_per_minute=mutations_per_minute,
        readiness_probe=readiness_probe,
        public_url=public_url,
    )
    return PauseMeshApp(serving)


def paths() -> list[str]:
    """Return the path templates of all operations."""
    return [operation.path for operation in OPERATIONS]


def _router(operations: Iterable[Operation], serving: Serving) -> Router:
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    routes = [Route(path, endpoint=Endpoint(found, serving)) for path, found in by_path.items()]
    return Router(routes=routes, redirect_slashes=False, default=_not_found)


async def _not_found(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise RouteNotFound
