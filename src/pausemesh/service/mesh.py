"""The façade: one short method for each use case."""

import builtins
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, Unpack, overload

from pausemesh.core import limits
from pausemesh.core.api_key import ApiKey
from pausemesh.core.effect import Effect
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import WaitTimeout
from pausemesh.core.policy import Policy
from pausemesh.core.principal import DEFAULT_SCOPE, Principal, Role
from pausemesh.core.values import JsonInput, JsonValue
from pausemesh.ports import Cipher, Clock, EventStore, Ids, Observer, SchemaValidator, Tokens
from pausemesh.records import Lease
from pausemesh.service.answer_type import answer_type_of
from pausemesh.service.asking import CreatedContinuation
from pausemesh.service.asks import Asked, AskOptions, AskRequest
from pausemesh.service.changes import Changes
from pausemesh.service.claiming import Claiming, claim_next_within
from pausemesh.service.claims import Claims
from pausemesh.service.continuation_service import ContinuationService
from pausemesh.service.effects import Effects
from pausemesh.service.fenced_claims import FencedClaims
from pausemesh.service.findings import RebuildReport, VerifyReport
from pausemesh.service.keys import CreatedKey, Keys
from pausemesh.service.rebuilding import Rebuilding
from pausemesh.service.shared import Shared
from pausemesh.service.turn import Turn
from pausemesh.service.verifying import Verifying
from pausemesh.service.waiting import Waiting

AnswerT = TypeVar("AnswerT")

DEFAULT_LEASE: Final = timedelta(seconds=limits.LEASE_SECONDS)


class Mesh(ContinuationService):
    """Durable questions, the one answer that counts, and the one worker that goes on with it.

    ``pausemesh.open`` makes one. It belongs to the event loop in which it is used.
    """

    def __init__(
        self,
        store: EventStore,
        *,
        clock: Clock,
        tokens: Tokens,
        ids: Ids,
        validator: SchemaValidator,
        observer: Observer,
        policy: Policy | None = None,
        cipher: Cipher | None = None,
        scope: str = DEFAULT_SCOPE,
        shared: Shared | None = None,
    ) -> None:
        super().__init__(
            store,
            clock=clock,
            tokens=tokens,
            ids=ids,
            validator=validator,
            observer=observer,
            policy=policy,
            cipher=cipher,
            scope=scope,
            shared=shared,
        )
        self._wakeups = self._shared.wakeups
        self._effects = Effects(self._world, self._transactor, self._reads)
        self._claims = Claims(self._world, self._transactor, self._reads, self._effects)
        self._waiting = Waiting(self._world, self._reads, self._wakeups)
        self._changes = Changes(self._world, self._reads, self._wakeups)
        self._keys = Keys(self._world)

    @property
    def scope(self) -> str:
        """The project or tenant that this mesh is confined to."""
        return self._world.scope

    def in_scope(self, scope: str) -> "Mesh":
        """Return a mesh over the same store and ports that is confined to another scope; closing either ends both."""
        world = self._world
        return Mesh(
            world.store,
            clock=world.clock,
            tokens=world.tokens,
            ids=world.ids,
            validator=world.validator,
            observer=world.observer,
            policy=world.policy,
            cipher=world.cipher,
            scope=scope,
            shared=self._shared,
        )

    async def wait(self, continuation_id: str, *, timeout: float | timedelta | None = None) -> Continuation:
        """Return a question once it is resumed, cancelled or expired, by whatever process; claims nothing.

        Args:
            continuation_id: the question.
            timeout: seconds, or a timedelta; None waits for as long as it takes.

        Raises:
            WaitTimeout: it is still open; a timeout is never an answer.
            ContinuationNotFound: there is none.
        """
        return await self._waiting.until_decided(continuation_id, timeout=timeout)

    def claim(
        self,
        continuation_id: str,
        *,
        lease: timedelta = DEFAULT_LEASE,
        worker: str | None = None,
        action: Mapping[str, JsonInput] | None = None,
    ) -> Claiming:
        """Take the right to go on with an answered question, for the length of an ``async with`` block.

        The block gets a ``Turn``. A clean end is ``done``, an exception gives the claim back.

        Args:
            continuation_id: the question.
            lease: one second to one day; renewed while the block runs, and what others wait for after a crash.
            worker: a name for the records; generated where it is left out.
            action: what the holder is going to do, where the question approves one: {name, arguments}.

        Raises:
            ClaimHeld: another worker has it.
            ClaimDone: another worker finished; with its result.
            InvalidTransition: the question was not answered.
            ActionMismatch: ``action`` is not what was approved.
        """

        async def take() -> Turn[JsonValue]:
            continuation, held = await self._claims.take(continuation_id, worker=worker, lease=lease, action=action)
            return self._turn(continuation, continuation.resume_payload, held, lease)

        return Claiming(take)

    def claim_next(
        self,
        queue: str,
        *,
        lease: timedelta = DEFAULT_LEASE,
        worker: str | None = None,
        timeout: float | timedelta | None = None,
    ) -> Claiming:
        """Take the decision that has been ready longest in a queue; otherwise as ``claim``.

        Raises:
            WaitTimeout: nothing was ready within the time given.
        """

        async def take() -> Turn[JsonValue]:
            taken = await claim_next_within(
                self._world, self._claims, self._wakeups, queue=queue, worker=worker, lease=lease, timeout=timeout
            )
            if taken is None:
                raise WaitTimeout("Nothing in this queue is ready to go on with.")
            continuation, held = taken
            return self._turn(continuation, continuation.resume_payload, held, lease)

        return Claiming(take)

    @overload
    def ask(
        self,
        question: str | Mapping[str, JsonInput],
        *,
        answer: type[AnswerT],
        key: str,
        **options: Unpack[AskOptions],
    ) -> Asked[AnswerT]: ...

    @overload
    def ask(
        self,
        question: str | Mapping[str, JsonInput],
        *,
        answer: object = None,
        key: str,
        **options: Unpack[AskOptions],
    ) -> Asked[Any]: ...

    def ask(
        self,
        question: str | Mapping[str, JsonInput],
        *,
        answer: Any = None,
        key: str,
        action: Mapping[str, JsonInput] | None = None,
        correlation_id: str | None = None,
        metadata: Mapping[str, JsonInput] | None = None,
        answerable_by: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        expires_in: timedelta | None = None,
        notify: Callable[[CreatedContinuation], object] | None = None,
        timeout: float | timedelta | None = None,
        lease: timedelta = DEFAULT_LEASE,
        worker: str | None = None,
    ) -> Asked[Any]:
        """Ask, wait, and go on with the answer, however often the process has to begin again.

        ``async with mesh.ask(...) as turn`` waits for the answer and for the claim, and renews the claim while the
        block runs; ``await mesh.ask(...)`` only waits for the answer.

        Args:
            question: the message that a person reads, or a whole payload.
            answer: the type of the answer (dataclass, TypedDict, msgspec Struct, pydantic model, ``bool`` …), or a JSON
                Schema; left out, an approval gets {approved, note?} and any other question any JSON.
            key: names the question for life: whoever asks under it shares the one question.
            action: what an approval approves: {name, arguments}; makes the question an approval.
            correlation_id: the host's own id of what this belongs to.
            metadata: an object that is kept with the question.
            answerable_by: as in ``create``.
            expires_at: as in ``create``; the same at each repeat, so that ``expires_in`` is usually what is wanted.
            expires_in: as in ``create``.
            notify: is called with the created question and its token, by the call that created it and no other; a
                plain function in a thread. Where it fails the question is there and nobody was told.
            timeout: seconds, or a timedelta, for the answer and the claim together.
            lease: as in ``claim``.
            worker: as in ``claim``.

        Raises:
            ContinuationExpired, ContinuationCancelled: there is no answer, and will be none.
            ClaimDone: somebody went on under this key and finished; with the result.
            IdempotencyConflict: the key was used for another question.
            WaitTimeout: not within ``timeout``.
        """
        request = AskRequest(
            question=question,
            answer_type=answer_type_of(answer),
            key=key,
            action=action,
            correlation_id=correlation_id,
            metadata=metadata,
            answerable_by=answerable_by,
            expires_at=expires_at,
            expires_in=expires_in,
            notify=notify,
            timeout=timeout,
            lease=lease,
            worker=worker,
        )
        return Asked(
            self._world,
            request,
            asking=self._asking,
            waiting=self._waiting,
            claims=self._claims,
            wakeups=self._wakeups,
            turn_of=self._turn,
        )

    @property
    def fenced(self) -> FencedClaims:
        """Claims for callers that hold nothing between two calls, such as those that come over HTTP."""
        return FencedClaims(self._world, self._reads, self._claims, self._effects, self._wakeups)

    @property
    def changes(self) -> Changes:
        """What happens in this scope, as it happens."""
        return self._changes

    async def effects(self, continuation_id: str) -> builtins.list[Effect]:
        """Return the effects of a question's claims, by key.

        Raises:
            ContinuationNotFound: there is no such question.
        """
        return [*await self._effects.of(await self.inspect(continuation_id))]

    async def resolve_effect(
        self,
        continuation_id: str,
        key: str,
        outcome: str,
        *,
        evidence: str,
        result: JsonInput = None,
        by: Principal | None = None,
    ) -> Effect:
        """Settle an effect that is in doubt, after somebody looked at what really happened.

        Args:
            continuation_id: the question whose claim started it.
            key: the effect's.
            outcome: ``done`` or ``not_done``; what was not done may be tried again.
            evidence: what was seen; 1 to 2,000 characters.
            result: what the effect returns from now on, where it was done.
            by: an admin; the host itself where it is left out.

        Raises:
            InvalidTransition: it is running under a live lease, or its outcome is known.
            ClaimNotFound: there is no such effect.
            Forbidden, ContinuationNotFound: as they say.
        """
        return await self._effects.resolve(
            continuation_id, key, outcome=outcome, evidence=evidence, result=result, by=by
        )

    async def create_key(
        self,
        role: Role | str,
        *,
        scope: str | None = None,
        expires_in: timedelta | None = None,
        label: str | None = None,
        by: Principal | None = None,
    ) -> CreatedKey:
        """Make an API key and get its text: it is in this answer and in no other.

        Args:
            role: what its holder may do.
            scope: where; the mesh's own where it is left out. Keys of all scopes are kept together.
            expires_in: how long it is valid, at most ten years; without it until it is revoked.
            label: what a person knows it by; 1 to 200 characters.
            by: an admin of that scope; the host itself where it is left out.

        Raises:
            InvalidRequest: a member is not what it must be.
            Forbidden: the caller is no admin, or one of another scope.
        """
        return await self._keys.create(role=role, scope=scope, expires_in=expires_in, label=label, by=by)

    async def keys(self) -> tuple[ApiKey, ...]:
        """Return the API keys of all scopes, oldest first; also those that expired or were revoked."""
        return await self._keys.list()

    async def revoke_key(self, key_id: str, *, by: Principal | None = None) -> ApiKey:
        """Take an API key back for good; a repeat changes nothing and gets the recorded outcome.

        Raises:
            ApiKeyNotFound: there is none with this id, in the caller's scope.
            Forbidden: the caller is no admin.
        """
        return await self._keys.revoke(key_id, by=by)

    async def authenticate(self, key: object) -> Principal | None:
        """Return who calls with this text of an API key; None where it is malformed, unknown, revoked or expired."""
        return await self._keys.principal_of(key)

    async def has_keys(self) -> bool:
        """Tell whether an API key was ever made, in whatever scope; it stays true when the last one is revoked."""
        return await self._keys.any_exist()

    async def verify(self) -> VerifyReport:
        """Check all that the store holds, of every scope, against its log; it changes nothing, and may take minutes."""
        return await Verifying(self._world, self._transactor).verify()

    async def rebuild(self, *, dry_run: bool = False) -> RebuildReport:
        """Write anew, from the log, the heads of all scopes that differ from it or are missing.

        Whoever uses the store meanwhile is not overwritten. Events are never changed: what is wrong with them stays,
        and is told.

        Args:
            dry_run: only tell what would be written.
        """
        return await Rebuilding(self._world, self._transactor).rebuild(dry_run=dry_run)

    async def close(self) -> None:
        """Stop what runs in the background; the store is its opener's to close."""
        await self._wakeups.close()
        await self._claims.close()

    def _turn(self, continuation: Continuation, answer: AnswerT, lease: Lease, length: timedelta) -> Turn[AnswerT]:
        return Turn(
            self._world,
            self._claims,
            self._effects,
            continuation=continuation,
            answer=answer,
            lease=lease,
            length=length,
        )
