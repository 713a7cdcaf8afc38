"""A worker: it takes decisions from the queue and by id, makes one effect happen for each, and is done."""

import asyncio
import dataclasses
import itertools
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import ClaimDone, ClaimHeld, EffectUnknown, Mesh, PauseMeshError, StoreError, Turn, WaitTimeout
from pausemesh.core.values import JsonValue
from pausemesh.service.claiming import Claiming
from proofs.children import Voice
from proofs.claims.journal import Journal, JournalledStore

QUEUE: Final = "work"
EFFECT: Final = "act"
LEASE: Final = timedelta(seconds=1)
LEASES: Final = "leases"
RUNS: Final = "runs"
FILE: Final = "mesh.db"

_BY_ID: Final = 2
_SECONDS_UNTIL_IDLE: Final = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all workers of a shift have to do.

    Attributes:
        folder: of the file and the journals.
        contested: the ids that all of them go through in this order.
        from_the_queue: how many claims each takes from the queue at once.
        store: the kind of store.
    """

    folder: Path
    contested: list[str]
    from_the_queue: int
    store: type[JournalledStore]


def work(voice: Voice, *, job: Job, name: str) -> None:
    """Work, once told to, until the process is killed; ``name`` is this worker's alone."""
    asyncio.run(_work(voice, job, name))


async def _work(voice: Voice, job: Job, name: str) -> None:
    store = await job.store.open(job.folder / FILE, pausemesh.SystemClock())
    store.journal = Journal(job.folder / LEASES)
    async with pausemesh.open(store) as mesh:
        worker = Worker(mesh, voice, Journal(job.folder / RUNS), name)
        voice.say(ready=True)
        await asyncio.to_thread(voice.hear)
        by_id = [worker.work_by_id(job.contested) for _ in range(_BY_ID)]
        from_the_queue = [worker.work_from_queue() for _ in range(job.from_the_queue)]
        await asyncio.gather(*by_id, *from_the_queue)


class Worker:
    """One process's share of the work."""

    def __init__(self, mesh: Mesh, voice: Voice, runs: Journal, name: str) -> None:
        self._mesh = mesh
        self._voice = voice
        self._runs = runs
        self._name = name
        self._numbers = itertools.count(1)

    async def work_from_queue(self) -> None:
        """Take what has been ready longest, again and again."""
        while True:
            name = self._new_name()
            claiming = self._mesh.claim_next(QUEUE, lease=LEASE, worker=name, timeout=_SECONDS_UNTIL_IDLE)
            try:
                await self._carry_on(claiming)
            except WaitTimeout:
                self._voice.say(idle=True)
            except StoreError as error:
                self._voice.say(away=error.code)

    async def work_by_id(self, contested: list[str]) -> None:
        """Go through the ids once; whoever else has one may keep it."""
        for noun_id in contested:
            try:
                await self._carry_on(self._mesh.claim(noun_id, lease=LEASE, worker=self._new_name()))
            except (ClaimHeld, ClaimDone) as error:
                self._voice.say(refused=error.code)
            except StoreError as error:
                self._voice.say(away=error.code)

    async def _carry_on(self, claiming: Claiming) -> None:
        async with AsyncExitStack() as stack:
            turn = await stack.enter_async_context(claiming)
            try:
                await self._act(turn)
                await turn.done(turn.fence)
            except PauseMeshError as error:
                self._voice.say(lost=error.code)
                await turn.release()
            else:
                self._voice.say(done=turn.continuation.id)

    async def _act(self, turn: Turn[JsonValue]) -> None:
        """Make the effect happen; where it is in doubt, look first whether it did."""
        noun_id, fence = turn.continuation.id, turn.fence

        async def run() -> JsonValue:
            self._runs.note(id=noun_id, fence=fence)
            return fence

        try:
            await turn.effect(EFFECT, run=run)
        except EffectUnknown:
            outcome = "done" if noun_id in runs_by_id(self._runs) else "not_done"
            await turn.resolve(EFFECT, outcome, evidence="looked at what was written down")
            self._voice.say(doubt=outcome)
            await turn.effect(EFFECT, run=run)

    def _new_name(self) -> str:
        return f"{self._name}-{next(self._numbers)}"


def runs_by_id(runs: Journal) -> Counter[str]:
    """Return how often each effect really happened, by the continuation's id."""
    return Counter(entry["id"] for entry in runs.entries())
