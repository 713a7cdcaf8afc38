"""What runs every few seconds: the timers, not the work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from pausemesh.core.limits import DUE_MAX
from pausemesh.server import limits
from pausemesh.server.serving import Serving
from pausemesh.telemetry.log import logger

_LOG = logger("pausemesh.loops")


@contextlib.asynccontextmanager
async def running_loops(serving: Serving) -> AsyncIterator[None]:
    """Sweep while the block runs."""
    sweeping = asyncio.create_task(_sweep(serving), name="pausemesh-sweeper")
    try:
        yield
    finally:
        sweeping.cancel()
        await asyncio.wait({sweeping})


async def _sweep(serving: Serving) -> None:
    mesh = serving.of(None).mesh
    while True:
        is_more = False
        try:
            is_more = await mesh.sweep(limit=DUE_MAX) == DUE_MAX
        except Exception as error:  # noqa: BLE001 - the next round may find the store again
            _LOG.warning("sweep_failed", error=type(error).__name__, code=getattr(error, "code", None))
        await asyncio.sleep(0 if is_more else limits.SWEEP_SECONDS)
