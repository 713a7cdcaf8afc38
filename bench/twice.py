"""Of very many decided questions, how many two replicas went on with, both trying each at the same time."""

import asyncio
import contextlib
from collections import Counter

from bench.measure import Row, at_most
from bench.replica import mesh_on
from bench.throughput import PAYLOAD
from pausemesh import ClaimDone, ClaimHeld
from pausemesh.service.mesh import Mesh
from pausemesh.testing.postgres import PostgresServer

_AT_ONCE = 64


async def measure(server: PostgresServer, questions: int) -> Row:
    """Ask, answer, and let both replicas go on with each; return with how many more than one did."""
    runs: Counter[str] = Counter()
    async with mesh_on(server) as one, mesh_on(server) as other:

        async def live(count: int) -> None:
            for _ in range(count):
                noun_id = await _decided(one)
                await asyncio.gather(*[_go_on(mesh, noun_id, runs) for mesh in (one, other)])

        share, rest = divmod(questions, _AT_ONCE)
        await asyncio.gather(*[live(share + (place < rest)) for place in range(_AT_ONCE)])
    assert len(runs) == questions, "each is gone on with"
    twice = sum(count > 1 for count in runs.values())
    return at_most(Row(name=f"ours: gone on with twice, of {questions:,}", value=twice, unit="questions"), 0)


async def _decided(mesh: Mesh) -> str:
    created = await mesh.create(payload=PAYLOAD)
    assert created.resume_token is not None
    noun_id = created.continuation.id
    await mesh.resume(noun_id, token=created.resume_token, idempotency_key="callback-1", payload={"flight": "AZ1"})
    return noun_id


async def _go_on(mesh: Mesh, noun_id: str, runs: Counter[str]) -> None:
    with contextlib.suppress(ClaimHeld, ClaimDone):
        async with mesh.claim(noun_id) as turn:
            runs[noun_id] += 1
            await turn.done()
