"""Claims for callers that hold nothing between two calls: they name the claim and its fence each time."""

import dataclasses
from collections.abc import Mapping
from datetime import timedelta

from pausemesh.core import limits
from pausemesh.core.effect import Effect, EffectStatus
from pausemesh.core.envelope import ClaimStatus, Continuation
from pausemesh.core.errors import ClaimNotFound, ContinuationNotFound, EffectUnknown, InvalidRequest, LeaseLost
from pausemesh.core.issue import Issue
from pausemesh.core.principal import Principal, require_may_create
from pausemesh.core.values import JsonInput, check_own_id, check_text
from pausemesh.records import Lease
from pausemesh.service.claiming import claim_next_within
from pausemesh.service.claims import Claims
from pausemesh.service.effects import Effects, effect_key_of
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.service.reads import Reads
from pausemesh.service.requests import (
    document_of,
    idempotency_key_of,
    lease_of,
    object_of,
    principal_of,
    reason_of,
    worker_of,
)
from pausemesh.service.wakeups import Wakeups
from pausemesh.service.world import World


class FencedClaims:
    """Takes claims and goes on with them by id and fence.

    A claim's id is its continuation's. ``by`` is who calls, where the host knows: an agent, an editor or an admin of
    the mesh's scope. Every method may raise ClaimNotFound, LeaseLost (the fence is not the live one; nothing was
    recorded) and Forbidden.
    """

    def __init__(self, world: World, reads: Reads, claims: Claims, effects: Effects, wakeups: Wakeups) -> None:
        self._world = world
        self._reads = reads
        self._claims = claims
        self._effects = effects
        self._wakeups = wakeups

    async def take(
        self,
        continuation_id: str,
        *,
        worker: str,
        lease: timedelta,
        action: Mapping[str, JsonInput] | None = None,
        by: Principal | None = None,
    ) -> tuple[Continuation, Lease]:
        """Take the claim of an answered question; otherwise as ``Mesh.claim``."""
        caller = principal_of(by, self._world.scope)
        return await self._claims.take(continuation_id, worker=worker, lease=lease, action=action, by=caller)

    async def take_next(
        self, queue: str, *, worker: str, lease: timedelta, timeout: float, by: Principal | None = None
    ) -> tuple[Continuation, Lease] | None:
        """Take the claim of the decision that has been ready longest in a queue; None where none was in time."""
        caller = principal_of(by, self._world.scope)
        check_own_id(queue, "/queue")
        worker_of(worker)
        lease_of(lease)
        _require_worker(caller)
        return await claim_next_within(
            self._world, self._claims, self._wakeups, queue=queue, worker=worker, lease=lease, timeout=timeout
        )

    async def renew(self, claim_id: str, fence: int, *, lease: timedelta, by: Principal | None = None) -> Lease:
        """Extend a live lease from now on."""
        length = lease_of(lease)
        _, held = await self._held(claim_id, fence, by)
        return await self._claims.renew(held, length)

    async def release(self, claim_id: str, fence: int, *, by: Principal | None = None) -> Lease:
        """Give the claim back, so that the next may take it at once; return what was given back."""
        _, held = await self._held(claim_id, fence, by)
        if not await self._claims.release(held):
            raise LeaseLost
        return held

    async def fail(self, claim_id: str, fence: int, *, reason: str | None = None, by: Principal | None = None) -> Lease:
        """Give the claim back because this worker cannot go on, and keep why; the same again finds it given back."""
        said = reason_of(reason)
        continuation, held = await self._named(claim_id, fence, by)
        if continuation.claim is None or continuation.claim.status is not ClaimStatus.HELD:
            told = await self._claims.last_failure(claim_id)
            if told is None or (told.fence, told.reason) != (fence, said):
                raise LeaseLost
            return dataclasses.replace(held, worker=told.worker)
        await self._claims.fail(continuation, held, said)
        await self._claims.release(held)
        return held

    async def finish(
        self, claim_id: str, fence: int, *, result: object = None, by: Principal | None = None
    ) -> Continuation:
        """End the claim for good; the same again finds it ended. Returns the continuation with its claim."""
        document = await document_of(result, self._world.policy.json_limits)
        continuation, held = await self._named(claim_id, fence, by)
        await self._claims.finish(continuation, held, document)
        return await self._reads.inspect(claim_id)

    async def start_effect(
        self,
        claim_id: str,
        fence: int,
        *,
        key: str,
        kind: str | None = None,
        arguments: Mapping[str, JsonInput] | None = None,
        attempt: str | None = None,
        by: Principal | None = None,
    ) -> tuple[Effect, bool]:
        """Record that an effect is about to happen; ``started`` tells the caller to make it happen, now.

        Args:
            claim_id: the claim.
            fence: under which the caller holds it.
            key: the effect's own among those of this question.
            kind: what an approval's ``action.name`` is compared with; the key where it is left out.
            arguments: what an approval's are compared with.
            attempt: the caller's name for this very call. The same start under the same name may be repeated; any
                other start of an effect that has no outcome yet is refused, since two would make it happen twice.
            by: who calls.

        Returns:
            the effect, and whether this very call started it before.

        Raises:
            EffectUnknown: it was started, and its outcome is not recorded.
            EffectConflict, ActionMismatch: it is not that effect, or not what was approved.
        """
        name = check_own_id(key, "/key")
        known_as = check_text(kind or name, "/kind", limits.OWN_ID_CHARACTERS, least=1)
        document = await document_of(object_of(arguments or {}, "/arguments"), self._world.policy.json_limits)
        own = None if attempt is None else idempotency_key_of(attempt)
        with self._world.rejections("effect", key):
            try:
                continuation, held = await self._held(claim_id, fence, by)
                effect, is_new = await self._effects.start(
                    continuation, held, key=name, kind=known_as, arguments=document, attempt=own
                )
            except LeaseLost:
                return await self._started_before(claim_id, name, own), True
            is_running = effect.status is EffectStatus.STARTED and not is_new
            if is_running and (own is None or effect.attempt != own):
                raise EffectUnknown("It was started under this claim, and has no outcome yet.")
            return effect, not is_new

    async def _started_before(self, claim_id: str, key: str, attempt: str | None) -> Effect:
        """Return the outcome of what this very call started while it held the claim.

        Raises:
            LeaseLost: it started nothing.
            EffectUnknown: it did, and nobody knows what came of it.
        """
        effect = await self._effects.find(await self._reads.inspect(claim_id), key)
        if effect is None or attempt is None or effect.attempt != attempt:
            raise LeaseLost
        if effect.status in {EffectStatus.STARTED, EffectStatus.UNKNOWN}:
            raise EffectUnknown("This very call started it, has lost its claim since, and no outcome is recorded.")
        return effect

    async def record_outcome(
        self,
        claim_id: str,
        fence: int,
        key: str,
        *,
        completed: bool,
        result: object = None,
        by: Principal | None = None,
    ) -> Effect:
        """Record that an effect happened, with its result, or that it surely did not.

        Raises:
            InvalidRequest: what did not happen has a result.
            InvalidTransition: another outcome is recorded.
        """
        if not completed and result is not None:
            raise InvalidRequest(issues=[Issue("/result", "shape", "what did not happen has no result")])
        document = await document_of(result, self._world.policy.json_limits)
        with self._world.rejections("effect", key):
            effect_key_of(key)
            continuation, held = await self._named(claim_id, fence, by)
            if completed:
                return await self._effects.complete(continuation, held, key, document)
            return await self._effects.fail(continuation, held, key)

    async def _named(self, claim_id: str, fence: int, by: Principal | None) -> tuple[Continuation, Lease]:
        """Return what a claim's id and fence name; whether it is held is for the store to judge."""
        if type(fence) is not int or fence < 1:
            raise InvalidRequest(issues=[Issue("/fence", "range", "must be an integer of at least 1")])
        caller = principal_of(by, self._world.scope)
        try:
            continuation = await self._reads.inspect(claim_id)
        except ContinuationNotFound:
            raise ClaimNotFound from None
        _require_worker(caller)
        claim = continuation.claim
        if claim is None or claim.fence < fence:
            raise ClaimNotFound
        if claim.fence > fence:
            raise LeaseLost
        return continuation, Lease(
            scope=self._world.scope,
            stream=CONTINUATIONS.stream_of(continuation.id),
            worker=claim.worker or "",
            fence=fence,
            until=claim.lease_until or self._world.clock.now(),
            attempts=fence,
        )

    async def _held(self, claim_id: str, fence: int, by: Principal | None) -> tuple[Continuation, Lease]:
        continuation, held = await self._named(claim_id, fence, by)
        if continuation.claim is None or continuation.claim.status is not ClaimStatus.HELD:
            raise LeaseLost
        return continuation, held


def _require_worker(caller: Principal | None) -> None:
    if caller is not None:
        require_may_create(caller)
