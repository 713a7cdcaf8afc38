"""Claims: the right to go on with a decision, taken by one worker at a time, renewed, and ended once."""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pausemesh.core import limits
from pausemesh.core.claim import (
    Claim,
    Event,
    Failed,
    Finished,
    decide_fail,
    decide_finish,
    require_action,
    require_claimable,
)
from pausemesh.core.document import Document
from pausemesh.core.envelope import ClaimStatus, Continuation
from pausemesh.core.errors import (
    ClaimDone,
    ClaimHeld,
    InvalidRequest,
    LeaseLost,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
    StreamTooLong,
)
from pausemesh.core.issue import Issue
from pausemesh.core.principal import Principal, require_may_create
from pausemesh.core.values import JsonInput, JsonValue, check_own_id, check_text
from pausemesh.records import Held, Lease
from pausemesh.service.doubt import still_in_doubt
from pausemesh.service.effects import Effects
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, claim_head
from pausemesh.service.reads import Reads
from pausemesh.service.requests import lease_of, object_of, worker_of
from pausemesh.service.transact import Step, Transactor
from pausemesh.service.world import World

TakenT = TypeVar("TakenT")


class Claims:
    """Takes, renews, gives back and finishes claims; every change by the store's clock."""

    def __init__(self, world: World, transactor: Transactor, reads: Reads, effects: Effects) -> None:
        self._world = world
        self._transactor = transactor
        self._reads = reads
        self._effects = effects
        self._releasing: set[asyncio.Future[None]] = set()

    async def take(
        self,
        continuation_id: str,
        *,
        worker: str | None,
        lease: timedelta,
        action: Mapping[str, JsonInput] | None = None,
        by: Principal | None = None,
    ) -> tuple[Continuation, Lease]:
        """Take the claim of a resumed continuation; ``by`` is who calls, where that is to be judged.

        Raises:
            ClaimHeld: another worker has it.
            ClaimDone: another worker finished; with its result.
            InvalidTransition: the question was not answered.
            ActionMismatch: ``action`` is not the one that was approved.
            Forbidden: who calls may not go on with anything.
        """
        length, name = lease_of(lease), self._worker_of(worker)
        with self._world.rejections("claim", continuation_id):
            wanted = None if action is None else _action_of(action)
            continuation = await self._reads.inspect(continuation_id)
            if by is not None:
                require_may_create(by)
            require_claimable(continuation)
            if wanted is not None:
                require_action(continuation, *wanted)
            return continuation, await self._lease(continuation, name, length, is_own_name=worker is None)

    async def take_next(self, queue: str, *, worker: str | None, lease: timedelta) -> tuple[Continuation, Lease] | None:
        """Take the claim of the decision that has been ready longest in a queue, None where none is."""
        name, length, holder = check_own_id(queue, "/queue"), lease_of(lease), self._worker_of(worker)
        taken = await self._insist(self._world.store.take_next(self._world.scope, name, holder, length))
        if taken is None:
            return None
        try:
            continuation = await self._reads.inspect(CONTINUATIONS.id_of(taken.stream))
        except BaseException:
            self._in_background(self._release_quietly(taken))
            raise
        self._observe_claim(taken, ClaimStatus.HELD.value)
        return continuation, taken

    async def _lease(self, continuation: Continuation, worker: str, length: timedelta, *, is_own_name: bool) -> Lease:
        stream = CONTINUATIONS.stream_of(continuation.id)
        for _ in range(limits.APPEND_ATTEMPTS):
            try:
                taken = await self._insist(self._world.store.take(self._world.scope, stream, worker, length))
            except OutcomeUnknown:
                with still_in_doubt():
                    taken = await self._insist(self._found(stream, worker, length)) if is_own_name else None
                if taken is None:
                    raise
            if isinstance(taken, Held):
                raise ClaimHeld(lease_until=taken.until, fence=taken.fence)
            if taken is not None:
                self._observe_claim(taken, ClaimStatus.HELD.value)
                return taken
            claim = (await self._reads.inspect(continuation.id)).claim
            if claim is not None and claim.status is ClaimStatus.DONE:
                raise ClaimDone(result=await self.result(continuation.id), recorded=continuation.recorded)
        raise StoreUnavailable("The claim cannot be taken and is neither held nor done.")

    async def _found(self, stream: str, worker: str, length: timedelta) -> Lease | None:
        """Return the lease that a lost reply told of; only this call knows the name it was taken under."""
        stored = await self._world.store.load(self._world.scope, stream)
        if stored is None or stored.claim.holder != worker or stored.claim.lease_until is None:
            return None
        claim = stored.claim
        lost = Lease(
            scope=self._world.scope,
            stream=stream,
            worker=worker,
            fence=claim.fence,
            until=stored.claim.lease_until,
            attempts=claim.attempts,
        )
        return await self._world.store.renew(lost, length)

    async def _insist(self, taking: Coroutine[Any, Any, TakenT]) -> TakenT:
        """Wait for a claim; where the waiting is cancelled, what arrives late is given back."""
        task = asyncio.ensure_future(taking)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._in_background(self._give_back_late(task))
            raise

    async def _give_back_late(self, task: "asyncio.Future[Any]") -> None:
        with contextlib.suppress(StoreError):
            taken = await task
            if isinstance(taken, Lease):
                await self._world.store.release(taken)

    async def _release_quietly(self, lease: Lease) -> None:
        """Give back what nobody will use; where that fails, the lease lapses."""
        with contextlib.suppress(StoreError):
            await self._world.store.release(lease)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)

    async def close(self) -> None:
        """Wait for what is being given back."""
        while self._releasing:
            await asyncio.wait(self._releasing)

    async def renew(self, lease: Lease, length: timedelta) -> Lease:
        """Extend a lease from now on.

        Raises:
            LeaseLost: it has lapsed or passed on.
        """
        renewed = await self._world.store.renew(lease, length)
        if renewed is None:
            raise LeaseLost
        return renewed

    async def release(self, lease: Lease) -> bool:
        """Give a lease back, so that the next need not wait for its end; False where it was lost already."""
        released = await self._world.store.release(lease)
        self._observe_claim(lease, "open" if released else "lapsed")
        return released

    async def finish(self, continuation: Continuation, lease: Lease, result: Document) -> None:
        """End the claim for good, with a result that later callers are told.

        Raises:
            LeaseLost: it has lapsed or passed on; nothing was recorded.
            ClaimDone: this claim was finished with another result.
        """
        finished = Finished(worker=lease.worker, fence=lease.fence, result=result)

        def step(state: Claim | None, _now: datetime) -> Step[Claim, Event]:
            return Step(
                events=decide_finish(state, finished),
                head_of=lambda reached: claim_head(reached, continuation),
                also=(self._effects.fence(continuation, lease.fence, finish=True),),
            )

        with self._world.rejections("claim", continuation.id):
            await self._transactor.run(CLAIMS, continuation.id, step)
        self._observe_claim(lease, ClaimStatus.DONE.value)

    async def fail(self, continuation: Continuation, lease: Lease, reason: str | None) -> None:
        """Record that a worker cannot go on; beyond a number of failures no more are kept.

        Raises:
            LeaseLost: the lease has lapsed or passed on; nothing was recorded.
        """
        failed = Failed(worker=lease.worker, fence=lease.fence, reason=reason)

        def step(state: Claim | None, _now: datetime) -> Step[Claim, Event]:
            return Step(
                events=decide_fail(state, failed),
                head_of=lambda reached: claim_head(reached, continuation),
                also=(self._effects.fence(continuation, lease.fence),),
            )

        with self._world.rejections("claim", continuation.id), contextlib.suppress(StreamTooLong):
            await self._transactor.run(CLAIMS, continuation.id, step)

    async def last_failure(self, continuation_id: str) -> Failed | None:
        """Return how the claim failed last."""
        state = await self._transactor.load(CLAIMS, continuation_id)
        return None if state is None else state.failed

    async def result(self, continuation_id: str) -> JsonValue:
        """Return what the claim was finished with."""
        state = await self._transactor.load(CLAIMS, continuation_id)
        return None if state is None or state.finished is None else state.finished.result.value

    def _observe_claim(self, lease: Lease, status: str) -> None:
        self._world.observe(
            "transition", "claim", CONTINUATIONS.id_of(lease.stream), status=status, version=lease.fence
        )

    def _worker_of(self, worker: str | None) -> str:
        return self._world.ids.new("w") if worker is None else worker_of(worker)


def _action_of(action: object) -> tuple[str, Document]:
    members = object_of(action, "/action")
    if members.keys() - {"name", "arguments"}:
        raise InvalidRequest(issues=[Issue("/action", "shape", "must have a name and arguments, and nothing else")])
    name = check_text(members.get("name"), "/action/name", limits.OWN_ID_CHARACTERS, least=1)
    return name, Document.of(object_of(members.get("arguments", {}), "/action/arguments"))
