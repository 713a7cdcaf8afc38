"""Claims: the right to go on with a decision, taken by one worker at a time, renewed, and ended once."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pausemesh.core import limits
from pausemesh.core.claim import Finished, FinishedClaim, decide_finish, require_action, require_claimable
from pausemesh.core.document import Document
from pausemesh.core.envelope import ClaimStatus, Continuation
from pausemesh.core.errors import ClaimDone, ClaimHeld, LeaseLost, StoreUnavailable
from pausemesh.core.values import JsonInput, JsonValue, check_own_id, check_text
from pausemesh.ports import Held, Lease
from pausemesh.service.effects import Effects
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, claim_head
from pausemesh.service.reads import Reads
from pausemesh.service.requests import document_of, lease_of
from pausemesh.service.transact import Step, Transactor
from pausemesh.service.world import World


class Claims:
    """Takes, renews, gives back and finishes claims; every change by the store's clock."""

    def __init__(self, world: World, transactor: Transactor, reads: Reads, effects: Effects) -> None:
        self._world = world
        self._transactor = transactor
        self._reads = reads
        self._effects = effects

    async def take(
        self,
        continuation_id: str,
        *,
        worker: str | None,
        lease: timedelta,
        action: Mapping[str, JsonInput] | None = None,
    ) -> tuple[Continuation, Lease]:
        """Take the claim of a resumed continuation.

        Raises:
            ClaimHeld: another worker has it.
            ClaimDone: another worker finished; with its result.
            InvalidTransition: the question was not answered.
            ActionMismatch: ``action`` is not the one that was approved.
        """
        length, name = lease_of(lease), self._worker_of(worker)
        with self._world.rejections("claim", continuation_id):
            continuation = await self._reads.inspect(continuation_id)
            require_claimable(continuation)
            if action is not None:
                require_action(continuation, *_action_of(action))
            for _ in range(limits.APPEND_ATTEMPTS):
                taken = await self._world.store.take(
                    self._world.scope, CONTINUATIONS.stream_of(continuation_id), name, length
                )
                if isinstance(taken, Held):
                    raise ClaimHeld(lease_until=taken.until, fence=taken.fence)
                if taken is not None:
                    self._observe_claim(taken, ClaimStatus.HELD.value)
                    return continuation, taken
                continuation = await self._reads.inspect(continuation_id)
                if continuation.claim is not None and continuation.claim.status is ClaimStatus.DONE:
                    raise ClaimDone(result=await self.result(continuation_id), recorded=continuation.recorded)
            raise StoreUnavailable("The claim cannot be taken and is neither held nor done.")

    async def take_next(self, queue: str, *, worker: str | None, lease: timedelta) -> tuple[Continuation, Lease] | None:
        """Take the claim of the decision that has been ready longest in a queue, None where none is."""
        name = check_own_id(queue, "/queue")
        taken = await self._world.store.take_next(self._world.scope, name, self._worker_of(worker), lease_of(lease))
        if taken is None:
            return None
        self._observe_claim(taken, ClaimStatus.HELD.value)
        return await self._reads.inspect(CONTINUATIONS.id_of(taken.stream)), taken

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

    async def finish(self, continuation: Continuation, lease: Lease, result: object) -> Document:
        """End the claim for good, with a result that later callers are told.

        Raises:
            LeaseLost: it has lapsed or passed on; nothing was recorded.
            ClaimDone: this claim was finished with another result.
        """
        document = await document_of(result, self._world.policy.json_limits)
        finished = Finished(worker=lease.worker, fence=lease.fence, result=document)

        def step(state: FinishedClaim | None, _now: datetime) -> Step[FinishedClaim, Finished]:
            return Step(
                events=decide_finish(state, finished),
                head_of=lambda _reached: claim_head(continuation),
                also=(self._effects.fence(continuation, lease, finish=True),),
            )

        with self._world.rejections("claim", continuation.id):
            await self._transactor.run(CLAIMS, continuation.id, step)
        self._observe_claim(lease, ClaimStatus.DONE.value)
        return document

    async def result(self, continuation_id: str) -> JsonValue:
        """Return what the claim was finished with."""
        state = await self._transactor.load(CLAIMS, continuation_id)
        return None if state is None else state.finished.result.value

    def _observe_claim(self, lease: Lease, status: str) -> None:
        self._world.observe(
            "transition", "claim", CONTINUATIONS.id_of(lease.stream), status=status, version=lease.fence
        )

    def _worker_of(self, worker: str | None) -> str:
        if worker is None:
            return self._world.ids.new("w")
        return check_text(worker, "/worker", limits.WORKER_CHARACTERS, least=1)


def _action_of(action: Mapping[str, JsonInput]) -> tuple[str, Document]:
    name = check_text(action.get("name"), "/action/name", limits.OWN_ID_CHARACTERS, least=1)
    return name, Document.of(action.get("arguments", {}))
