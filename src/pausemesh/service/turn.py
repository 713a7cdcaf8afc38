"""A turn: what a worker holds while it goes on with a decision."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from pausemesh.core.document import Document
from pausemesh.core.effect import Effect, EffectStatus
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import (
    EffectFailed,
    EffectUnknown,
    InvalidTransition,
    LeaseLost,
    OutcomeUnknown,
    PauseMeshError,
    StoreError,
    StoreUnavailable,
)
from pausemesh.core.values import JsonInput, JsonValue, check_own_id
from pausemesh.records import Lease
from pausemesh.service.bound_call import BoundCall, bound
from pausemesh.service.claims import Claims
from pausemesh.service.doubt import still_in_doubt
from pausemesh.service.effects import Effects
from pausemesh.service.requests import document_of, object_of
from pausemesh.service.world import World

AnswerT = TypeVar("AnswerT")

_RENEWALS_PER_LEASE: Final = 3
_RETRY_SECONDS: Final = 0.1
_CANCELLED_SECONDS: Final = 5.0


class Turn(Generic[AnswerT]):
    """The right to go on with one decision, under a fence that no later holder shares.

    The lease is renewed while the block runs. A clean end of the block is ``done``; an exception gives the claim
    back, so that the next worker need not wait for the lease's end.

    Attributes:
        continuation: the decided question.
        answer: its answer; plain JSON, or of the type that was asked for.
    """

    def __init__(
        self,
        world: World,
        claims: Claims,
        effects: Effects,
        *,
        continuation: Continuation,
        answer: AnswerT,
        lease: Lease,
        length: timedelta,
    ) -> None:
        self.continuation = continuation
        self.answer = answer
        self._world = world
        self._claims = claims
        self._effects = effects
        self._lease = lease
        self._length = length
        self._ended = False
        self._is_finishing = False
        self._locks: dict[str, asyncio.Lock] = {}
        self._running: set[str] = set()
        self._entered: set[str] = set()
        self._renewal: asyncio.Task[None] | None = None

    @property
    def fence(self) -> int:
        """The number of this claim among all claims of the question; a later one is greater."""
        return self._lease.fence

    @property
    def worker(self) -> str:
        """The name under which the claim is held."""
        return self._lease.worker

    async def effect(
        self,
        key: str,
        *,
        run: Callable[..., object],
        arguments: Mapping[str, JsonInput] | None = None,
        kind: str | None = None,
    ) -> JsonValue:
        """Have an external effect happen once, and return its result; a repeat returns the recorded one.

        The start is recorded first. ``run`` is then called with ``arguments`` as keyword arguments, or with none where
        it takes no parameters; one that is not a coroutine function runs in a thread, so that the lease is renewed
        meanwhile. Whatever it raises leaves the effect in doubt, but EffectFailed, which says that it surely did not
        happen.

        Args:
            key: the effect's own among those of this question; an id of ours.
            run: what makes it happen and returns plain JSON.
            arguments: an object; kept, and compared with an approval's.
            kind: what an approval's ``action.name`` is compared with; the key where it is left out.

        Raises:
            EffectUnknown: it was started before and nobody knows what came of it.
            EffectConflict: the key was used with another kind or other arguments.
            ActionMismatch: it is not what was approved, or the approval was declined.
            LeaseLost: the claim has lapsed or passed on.
            EffectFailed: ``run`` said so.
        """
        call = bound(run, {} if arguments is None else object_of(arguments, "/arguments"))
        document = await document_of(call.arguments, self._world.policy.json_limits)
        name = key if kind is None else kind
        with self._world.rejections("effect", key):
            async with self._one_at_a_time(check_own_id(key, "/key")):
                effect = await self._start(key, name, document)
                if effect is None:
                    return await self._perform(key, call, document)
                return effect.result

    async def resolve(self, key: str, outcome: str, *, evidence: str, result: JsonInput = None) -> Effect:
        """Settle an effect that is in doubt, after having looked.

        Args:
            key: the effect's.
            outcome: ``done`` or ``not_done``; what was not done may be tried again.
            evidence: what was seen; 1 to 2,000 characters.
            result: what ``effect`` returns from now on, where it was done.

        Raises:
            InvalidTransition: it is running, or its outcome is known.
            ClaimNotFound: there is no such effect.
        """
        return await self._effects.resolve_held(
            self.continuation,
            self._lease,
            key,
            outcome=outcome,
            evidence=evidence,
            result=result,
            is_running=check_own_id(key, "/key") in self._running,
        )

    async def done(self, result: JsonInput = None) -> None:
        """End the claim for good; whoever comes later is told ``result``.

        Raises:
            LeaseLost: the claim has lapsed or passed on; nothing was recorded.
            InvalidTransition: an effect of this turn is still running.
        """
        if self._running:
            raise InvalidTransition("An effect of this turn is still running.")
        self._is_finishing = True
        try:
            await even_if_cancelled(self._finish(result))
        finally:
            self._is_finishing = self._ended

    async def release(self) -> None:
        """Give the claim back undone; the next worker may take it at once."""
        await even_if_cancelled(self._give_back())

    async def __aenter__(self) -> "Turn[AnswerT]":
        """Begin to renew the lease."""
        self._renewal = asyncio.create_task(self._renew(), name="pausemesh-renewal")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Be done at a clean end, once its effects are; give the claim back at any other, or where that fails."""
        if self._ended:
            return
        try:
            if error is None:
                await self._effects_settled()
                await self.done()
        finally:
            if not self._ended:
                with contextlib.suppress(StoreError):
                    await self.release()

    async def _finish(self, result: JsonInput) -> None:
        document = await document_of(result, self._world.policy.json_limits)
        await self._claims.finish(self.continuation, self._lease, document)
        await self._end()

    async def _give_back(self) -> None:
        await self._end()
        await self._claims.release(self._lease)

    async def _effects_settled(self) -> None:
        for lock in list(self._locks.values()):
            async with lock:
                pass

    @contextlib.asynccontextmanager
    async def _one_at_a_time(self, key: str) -> AsyncIterator[None]:
        """Let calls for one key wait for each other, so that the next finds what became of the one before."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if self._is_finishing:
                raise InvalidTransition("The turn is finished.")
            if self._ended:
                raise LeaseLost("The turn gave its claim back.")
            self._running.add(key)
            try:
                yield
            finally:
                self._running.discard(key)

    async def _start(self, key: str, kind: str, arguments: Document) -> Effect | None:
        """Record the start; return the effect where there is nothing to run."""
        starting = asyncio.ensure_future(self._started(key, kind, arguments))
        try:
            effect, is_new = await asyncio.shield(starting)
        except asyncio.CancelledError:
            await even_if_cancelled(self._take_back(key, starting))
            raise
        if effect.status is not EffectStatus.STARTED:
            return effect
        if not is_new and key in self._entered:
            raise EffectUnknown("It ran in this turn, and its outcome could not be recorded.")
        return None

    async def _started(self, key: str, kind: str, arguments: Document) -> tuple[Effect, bool]:
        """Record the start, once more where the reply was lost; then it may look as if it was there before."""
        with contextlib.suppress(OutcomeUnknown):
            return await self._effects.start(self.continuation, self._lease, key=key, kind=kind, arguments=arguments)
        with still_in_doubt():
            return await self._effects.start(self.continuation, self._lease, key=key, kind=kind, arguments=arguments)

    async def _take_back(self, key: str, starting: "asyncio.Future[tuple[Effect, bool]]") -> None:
        """Record that what was about to start surely did not happen: its caller went before it began."""
        with contextlib.suppress(PauseMeshError):
            effect, _ = await starting
            if effect.status is EffectStatus.STARTED and key not in self._entered:
                await self._effects.fail(self.continuation, self._lease, key)

    async def _perform(self, key: str, call: BoundCall, arguments: Document) -> JsonValue:
        self._entered.add(key)
        result = await self._attempt(key, call, arguments)
        await even_if_cancelled(
            self._record(lambda: self._effects.complete(self.continuation, self._lease, key, result))
        )
        self._entered.discard(key)
        return result.value

    async def _attempt(self, key: str, call: BoundCall, arguments: Document) -> Document:
        try:
            return await document_of(await call.run(arguments), self._world.policy.json_limits)
        except EffectFailed:
            with contextlib.suppress(PauseMeshError):
                await self._record(lambda: self._effects.fail(self.continuation, self._lease, key))
                self._entered.discard(key)
            raise
        except BaseException:
            with contextlib.suppress(PauseMeshError):
                await self._record(lambda: self._effects.doubt(self.continuation, self._lease, key))
                self._entered.discard(key)
            raise

    async def _record(self, outcome: Callable[[], Awaitable[Effect]]) -> None:
        """Record what happened; it did happen, so a store that is away is asked again for the length of a lease."""
        ends = asyncio.get_running_loop().time() + self._length.total_seconds()
        while True:
            try:
                await outcome()
            except (StoreUnavailable, OutcomeUnknown):
                if asyncio.get_running_loop().time() >= ends:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _renew(self) -> None:
        seconds = self._length.total_seconds() / _RENEWALS_PER_LEASE
        while True:
            await asyncio.sleep(seconds)
            try:
                self._lease = await self._claims.renew(self._lease, self._length)
                seconds = self._length.total_seconds() / _RENEWALS_PER_LEASE
            except LeaseLost:
                return
            except StoreError:
                seconds = min(seconds, _RETRY_SECONDS)

    async def _end(self) -> None:
        self._ended = True
        renewal, self._renewal = self._renewal, None
        if renewal is not None:
            renewal.cancel()
            await asyncio.wait({renewal})


async def even_if_cancelled(recording: Coroutine[Any, Any, None]) -> None:
    """Let what is to be recorded be recorded before a cancellation goes on, for some seconds at most."""
    task = asyncio.ensure_future(recording)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_CANCELLED_SECONDS)
        task.add_done_callback(_look_away)
        raise


def _look_away(task: "asyncio.Future[None]") -> None:
    """Take note of how a recording ended that nobody waits for any more."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
