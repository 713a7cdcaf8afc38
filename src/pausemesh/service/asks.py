"""Ask and go on: create or find again by key, wait for the answer, claim it, and go on in a turn."""

import dataclasses
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Generic, TypedDict, TypeVar

from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import (
    ClaimHeld,
    ContinuationCancelled,
    ContinuationExpired,
    InvalidRequest,
    WaitTimeout,
)
from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonInput
from pausemesh.records import Lease
from pausemesh.service.answer_type import AnswerType
from pausemesh.service.asking import Asking, CreatedContinuation, CreationRequest
from pausemesh.service.bound_call import in_thread, require_takes_one
from pausemesh.service.claims import Claims
from pausemesh.service.nouns import CLAIMS
from pausemesh.service.requests import answerable_by_of, idempotency_key_of, lease_of, object_of, worker_of
from pausemesh.service.turn import Turn
from pausemesh.service.waiting import Waiting, deadline_after, seconds_left
from pausemesh.service.wakeups import Wakeups
from pausemesh.service.world import World

AnswerT = TypeVar("AnswerT")

ASKER: Final = "ask"
_POLL_SECONDS: Final = 1.0
_LEAST_SLEEP_SECONDS: Final = 0.01


class AskOptions(TypedDict, total=False):
    """What ``Mesh.ask`` takes beside the question, the answer's type and the key; see there."""

    action: Mapping[str, JsonInput] | None
    correlation_id: str | None
    metadata: Mapping[str, JsonInput] | None
    answerable_by: Iterable[str] | None
    expires_at: datetime | None
    expires_in: timedelta | None
    notify: Callable[[CreatedContinuation], object] | None
    timeout: float | timedelta | None
    lease: timedelta
    worker: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest(Generic[AnswerT]):
    """What a caller says who asks and goes on; see ``Mesh.ask`` for the members."""

    question: str | Mapping[str, JsonInput] = dataclasses.field(repr=False)
    answer_type: AnswerType[AnswerT]
    key: str
    action: Mapping[str, JsonInput] | None = dataclasses.field(repr=False)
    correlation_id: str | None
    metadata: Mapping[str, JsonInput] | None = dataclasses.field(repr=False)
    answerable_by: Iterable[str] | None
    expires_at: datetime | None
    expires_in: timedelta | None
    notify: Callable[[CreatedContinuation], object] | None
    timeout: float | timedelta | None
    lease: timedelta
    worker: str | None

    def __post_init__(self) -> None:
        idempotency_key_of(self.key)
        lease_of(self.lease)
        if self.worker is not None:
            worker_of(self.worker)
        if self.notify is not None:
            require_takes_one(self.notify, "/notify")
        object.__setattr__(self, "answerable_by", answerable_by_of(self.answerable_by))

    def payload(self) -> dict[str, JsonInput]:
        """Return the question's payload."""
        if isinstance(self.question, str):
            payload: dict[str, JsonInput] = {"message": self.question}
        else:
            payload = object_of(self.question, "/question")
        if self.action is not None:
            payload["action"] = object_of(self.action, "/action")
        if self.answer_type.has_schema:
            if "responseSchema" in payload:
                raise InvalidRequest(issues=[Issue("/answer", "shape", "the question has a responseSchema already")])
            payload["responseSchema"] = self.answer_type.schema
        return payload

    def creation(self) -> CreationRequest:
        """Return how the question is created."""
        return CreationRequest(
            payload=self.payload(),
            correlation_id=self.correlation_id,
            metadata=self.metadata,
            answerable_by=self.answerable_by,
            expires_at=self.expires_at,
            expires_in=self.expires_in,
            idempotency_key=self.key,
        )


class Asked(Generic[AnswerT]):
    """A question that is about to be asked: enter it to go on with its answer, or await it to look only."""

    def __init__(
        self,
        world: World,
        request: AskRequest[AnswerT],
        *,
        asking: Asking,
        waiting: Waiting,
        claims: Claims,
        wakeups: Wakeups,
        turn_of: Callable[[Continuation, AnswerT, Lease, timedelta], Turn[AnswerT]],
    ) -> None:
        self._world = world
        self._asking = asking
        self._waiting = waiting
        self._claims = claims
        self._wakeups = wakeups
        self._turn_of = turn_of
        self._request = request
        self._stack = AsyncExitStack()

    def __await__(self) -> Generator[object, None, AnswerT]:
        """Observe the answer without claiming it."""
        return self.answer().__await__()

    async def answer(self) -> AnswerT:
        """Return the answer once there is one; for read-only use, since it claims nothing.

        Raises:
            ContinuationExpired, ContinuationCancelled: there will be none.
            WaitTimeout: not within the time given.
        """
        decided = await self._decided(deadline_after(self._request.timeout))
        return self._request.answer_type.convert(decided.resume_payload)

    async def __aenter__(self) -> Turn[AnswerT]:
        """Wait for the answer and for the right to go on with it.

        Raises:
            ContinuationExpired, ContinuationCancelled: there will be no answer.
            ClaimDone: somebody went on under this key already and finished; with the result.
            WaitTimeout: not within the time given.
        """
        deadline = deadline_after(self._request.timeout)
        decided = await self._decided(deadline)
        answer = self._request.answer_type.convert(decided.resume_payload)
        continuation, lease = await self._claimed(decided, deadline)
        turn = self._turn_of(continuation, answer, lease, self._request.lease)
        return await self._stack.enter_async_context(turn)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the turn."""
        await self._stack.__aexit__(kind, error, traceback)

    async def _decided(self, deadline: float | None) -> Continuation:
        created = await self._asking.create(self._request.creation(), asker=ASKER)
        if not created.replayed and self._request.notify is not None:
            await self._tell(self._request.notify, created)
        left = None if deadline is None else max(seconds_left(deadline), 0.0)
        decided = await self._waiting.until_decided(created.continuation.id, timeout=left)
        if decided.status is Status.EXPIRED:
            raise ContinuationExpired(expires_at=decided.expires_at, recorded=decided.recorded)
        if decided.status is Status.CANCELLED:
            raise ContinuationCancelled(recorded=decided.recorded)
        return decided

    async def _tell(self, notify: Callable[[CreatedContinuation], object], created: CreatedContinuation) -> None:
        if inspect.iscoroutinefunction(notify):
            await notify(created)
        else:
            await in_thread(notify, created)

    async def _claimed(self, decided: Continuation, deadline: float | None) -> tuple[Continuation, Lease]:
        async with self._wakeups.of(self._world.scope, CLAIMS.stream_of(decided.id)) as woken:
            while True:
                woken.clear()
                try:
                    return await self._claims.take(decided.id, worker=self._request.worker, lease=self._request.lease)
                except ClaimHeld as held:
                    lapses = (held.lease_until - self._world.clock.now()).total_seconds()
                left = seconds_left(deadline)
                if left <= 0:
                    raise WaitTimeout("Another worker holds the claim.")
                await woken.sleep(min(left, max(lapses, _LEAST_SLEEP_SECONDS), _POLL_SECONDS))
