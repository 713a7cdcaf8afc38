"""Whether the process lives, whether it can serve, and what it has counted."""

import asyncio
from typing import Final

from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.principal import require_may_read_all
from pausemesh.server import bodies, limits
from pausemesh.server.answer import Answer, json_answer
from pausemesh.server.operation import Access, Call, Operation


async def alive(_call: Call) -> Answer:
    """Say so; nothing is touched."""
    return json_answer({"status": "ok"})


async def ready(call: Call) -> Answer:
    """Look whether the store can do what it has to."""
    status = await _store_status(call)
    is_ready = status == "ready"
    return json_answer(
        {
            "status": "ready" if is_ready else "not_ready",
            "checks": [{"component": "event-store", "status": status}],
        },
        status=200 if is_ready else 503,
    )


async def metrics(call: Call) -> Answer:
    """Show the counts, which are those of all scopes."""
    call.require(require_may_read_all)
    body, media_type = call.serving.metrics.render()
    return Answer(status=200, body=body, headers=((b"content-type", media_type.encode()),))


async def _store_status(call: Call) -> str:
    probe = call.serving.readiness_probe
    if probe is None:
        return "not_configured"
    try:
        async with asyncio.timeout(limits.READY_SECONDS):
            await probe.check_ready()
    except (PauseMeshError, TimeoutError, OSError):
        return "unavailable"
    return "ready"


OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/healthz",
        name="alive",
        summary="Tell that the process answers",
        tag="Health",
        handle=alive,
        access=Access.PUBLIC,
        gives={200: bodies.Healthy},
    ),
    Operation(
        method="GET",
        path="/readyz",
        name="ready",
        summary="Tell whether the store's schema is exactly this release's and can be used",
        tag="Health",
        handle=ready,
        access=Access.PUBLIC,
        gives={200: bodies.Readiness, 503: bodies.Readiness},
    ),
    Operation(
        method="GET",
        path="/metrics",
        name="metrics",
        summary="Show what was counted, as Prometheus reads it",
        tag="Health",
        handle=metrics,
        access=Access.KEYED,
        gives={200: None},
        media_type="text/plain",
        problems=("FORBIDDEN",),
    ),
)
