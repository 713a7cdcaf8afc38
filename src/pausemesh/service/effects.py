"""The effects ledger: an effect is started before it happens, and its outcome recorded under the claim's fence."""

import dataclasses
from datetime import datetime
from typing import Final

from pausemesh.core import limits
from pausemesh.core.claim import require_action, require_claimable
from pausemesh.core.document import Document
from pausemesh.core.effect import Command, Complete, Doubt, Effect, Fail, Resolve, Start, decide
from pausemesh.core.effect_events import Event, Resolution, Started
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import ClaimNotFound, EffectUnknown, InvalidRequest, InvalidTransition, LeaseLost
from pausemesh.core.issue import Issue
from pausemesh.core.principal import Actor, ActorKind, Principal, require_admin
from pausemesh.core.values import check_own_id, check_text
from pausemesh.records import Appended, Lease, Write
from pausemesh.service.asking import actor_of
from pausemesh.service.nouns import CONTINUATIONS, EFFECTS, effect_head
from pausemesh.service.reads import Reads
from pausemesh.service.requests import document_of, principal_of
from pausemesh.service.transact import Step, Transactor
from pausemesh.service.world import World

_APPROVED: Final = "approved"


class Effects:
    """Records what a holder is about to do, what came of it, and what somebody found who looked."""

    def __init__(self, world: World, transactor: Transactor, reads: Reads) -> None:
        self._world = world
        self._transactor = transactor
        self._reads = reads

    async def start(
        self,
        continuation: Continuation,
        lease: Lease,
        *,
        key: str,
        kind: str,
        arguments: Document,
        attempt: str | None = None,
    ) -> tuple[Effect, bool]:
        """Record that an effect is about to happen; return it, and whether the caller is the one to run it."""
        started = Started(
            key=check_own_id(key, "/key"),
            kind=check_text(kind, "/kind", limits.OWN_ID_CHARACTERS, least=1),
            arguments=arguments,
            fence=lease.fence,
            worker=lease.worker,
            attempt=attempt,
        )
        require_action(continuation, started.kind, arguments)
        effect, is_repeat = await self._run(continuation, key, Start(started=started), lease)
        return effect, not is_repeat

    async def complete(self, continuation: Continuation, lease: Lease, key: str, result: Document) -> Effect:
        """Record that it happened."""
        effect, _ = await self._run(continuation, key, Complete(fence=lease.fence, result=result), lease)
        return effect

    async def fail(self, continuation: Continuation, lease: Lease, key: str) -> Effect:
        """Record that it surely did not happen."""
        effect, _ = await self._run(continuation, key, Fail(fence=lease.fence), lease)
        return effect

    async def doubt(self, continuation: Continuation, lease: Lease, key: str) -> Effect:
        """Record that nobody knows."""
        effect, _ = await self._run(continuation, key, Doubt(fence=lease.fence), lease)
        return effect

    async def resolve(
        self,
        continuation_id: str,
        key: str,
        *,
        outcome: str,
        evidence: str,
        result: object,
        by: Principal | None,
    ) -> Effect:
        """Record what somebody found who looked, holding no claim."""
        with self._world.rejections("effect", key):
            caller = principal_of(by, self._world.scope)
            command = await self._resolve_command(outcome, evidence, result, by=actor_of(caller))
            continuation = await self._reads.inspect(continuation_id)
            effect_key_of(key)
            if caller is not None:
                require_admin(caller)
            require_claimable(continuation)
            seen = 0 if continuation.claim is None else continuation.claim.fence
            is_running = await self.is_live(continuation, seen)
            command = dataclasses.replace(command, seen_fence=seen, is_running=is_running)
            effect, _ = await self._run(continuation, key, command, None)
            return effect

    async def resolve_held(
        self,
        continuation: Continuation,
        lease: Lease,
        key: str,
        *,
        outcome: str,
        evidence: str,
        result: object,
        is_running: bool,
    ) -> Effect:
        """Record what the holder of the claim found."""
        with self._world.rejections("effect", key):
            holder = Actor(kind=ActorKind.AGENT, id=lease.worker)
            command = await self._resolve_command(outcome, evidence, result, by=holder)
            command = dataclasses.replace(command, seen_fence=lease.fence, is_running=is_running)
            effect, _ = await self._run(continuation, key, command, lease)
            return effect

    async def is_live(self, continuation: Continuation, fence: int) -> bool:
        """Tell whether the claim is held under this fence right now, by the store's clock."""
        return isinstance(await self._world.store.append(self.fence(continuation, fence)), Appended)

    async def find(self, continuation: Continuation, key: str) -> Effect | None:
        """Return one effect of a continuation, None where there is none with this key."""
        effect = await self._transactor.load(EFFECTS, effect_id(continuation, key))
        return effect if effect is not None and effect.key == key else None

    async def of(self, continuation: Continuation) -> tuple[Effect, ...]:
        """Return all effects of a continuation, by key."""
        prefix = EFFECTS.stream_of(f"{continuation.id}/")
        after, found = prefix, list[Effect]()
        while True:
            heads = await self._world.store.list_by_correlation(
                self._world.scope, continuation.correlation_id, after, limits.PAGE_MAX
            )
            names = [head.stream for head in heads if head.stream.startswith(prefix)]
            streams = await self._world.store.load_many([(self._world.scope, name) for name in names])
            found += [self._transactor.replay(EFFECTS, stream) for stream in streams if stream is not None]
            if len(names) < limits.PAGE_MAX:
                return tuple(found)
            after = names[-1]

    async def _run(
        self, continuation: Continuation, key: str, command: Command, lease: Lease | None
    ) -> tuple[Effect, bool]:
        fence = () if lease is None else (self.fence(continuation, lease.fence),)
        noun_id = effect_id(continuation, check_own_id(key, "/key"))

        def step(state: Effect | None, _now: datetime) -> Step[Effect, Event]:
            if state is not None and state.key != key and not isinstance(command, Start):
                raise ClaimNotFound("There is no effect with this key.")
            events = decide(state, command)
            return Step(events=events, head_of=lambda reached: effect_head(reached, continuation), also=fence)

        try:
            settled = await self._transactor.run(EFFECTS, noun_id, step)
        except (EffectUnknown, InvalidTransition):
            # What a later holder did reads like this to one that was overtaken, and nothing else is its concern.
            if lease is not None and not await self.is_live(continuation, lease.fence):
                raise LeaseLost from None
            raise
        if not settled.replayed:
            self._world.observe(
                "transition", "effect", key, status=settled.state.status.value, version=settled.state.version
            )
        return settled.state, settled.replayed

    def fence(self, continuation: Continuation, fence: int, *, finish: bool = False) -> Write:
        """Return the comparison that a stale or lapsed holder fails."""
        return Write(
            scope=self._world.scope,
            stream=CONTINUATIONS.stream_of(continuation.id),
            expected_version=continuation.version,
            fence=fence,
            finish=finish,
        )

    async def _resolve_command(self, outcome: str, evidence: str, result: object, *, by: Actor) -> Resolve:
        resolution = _resolution_of(outcome)
        if resolution is Resolution.NOT_DONE and result is not None:
            raise InvalidRequest(issues=[Issue("/result", "shape", "what was not done has no result")])
        done = resolution is Resolution.DONE
        return Resolve(
            resolution=resolution,
            evidence=check_text(evidence, "/evidence", limits.EVIDENCE_CHARACTERS, least=1),
            by=by,
            result=await document_of(result, self._world.policy.json_limits) if done else None,
            seen_fence=0,
            is_running=False,
        )


def effect_key_of(key: object) -> str:
    """Return a key that an effect may be known by.

    Raises:
        ClaimNotFound: nothing can be known by it.
    """
    try:
        return check_own_id(key, "/key")
    except InvalidRequest:
        raise ClaimNotFound("There is no effect with this key.") from None


def effect_id(continuation: Continuation, key: str) -> str:
    """Return the effect's id in the log; an approved action has one effect, whatever its key, so that it runs once."""
    return f"{continuation.id}/{key if continuation.question.action is None else _APPROVED}"


def _resolution_of(outcome: object) -> Resolution:
    try:
        return Resolution(outcome if isinstance(outcome, str) else "")
    except ValueError:
        raise InvalidRequest(issues=[Issue("/outcome", "enum", "must be done or not_done")]) from None
