"""Deciding: the one answer, the cancellation or the expiry that ends a question."""

import dataclasses
from datetime import datetime

from pausemesh.core.continuation import Cancel, Command, Expire, Resume, State, decide
from pausemesh.core.continuation_events import Event, Expired, Resumed
from pausemesh.core.document import Document
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import Forbidden, InvalidRequest, TokenMismatch
from pausemesh.core.issue import Issue
from pausemesh.core.principal import (
    BY_TOKEN,
    Principal,
    Role,
    require_may_answer,
    require_may_govern,
)
from pausemesh.core.question import QuestionKind
from pausemesh.core.tokens import hash_token, is_well_formed
from pausemesh.records import AuditRow
from pausemesh.service.answers import AnswerChecks
from pausemesh.service.asking import actor_of
from pausemesh.service.cache import StateCache
from pausemesh.service.nouns import CONTINUATIONS, continuation_head_after, due_of
from pausemesh.service.requests import (
    continuation_id_of,
    document_of,
    expected_version_of,
    idempotency_key_of,
    principal_of,
    reason_of,
)
from pausemesh.service.transact import Guess, Settled, Step, Transactor
from pausemesh.service.world import World


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A decided question; ``replayed``: this is the recorded outcome of an earlier call."""

    continuation: Continuation
    replayed: bool


class Deciding:
    """Resumes, answers, cancels and expires; whoever loses a race is told the winner's outcome."""

    def __init__(self, world: World, transactor: Transactor, cache: StateCache, answers: AnswerChecks) -> None:
        self._world = world
        self._transactor = transactor
        self._cache = cache
        self._answers = answers

    async def resume(
        self,
        continuation_id: str,
        *,
        token: str,
        idempotency_key: str,
        payload: object,
        shown_digest: str | None,
        by: Principal | None,
    ) -> Outcome:
        """Answer with the resume token."""
        with self._world.rejections("continuation", continuation_id):
            document = await document_of(payload, self._world.policy.json_limits)
            key = idempotency_key_of(idempotency_key)
            digest = _shown_digest_of(shown_digest)
            if not is_well_formed(token):
                raise TokenMismatch
            caller = principal_of(by, self._world.scope)
            command = Resume(
                by=BY_TOKEN,
                idempotency_key=key,
                payload=document,
                token_hash=hash_token(token),
                shown_digest=digest,
            )
            return await self._decide(continuation_id, command, caller=caller)

    async def answer(
        self,
        continuation_id: str,
        *,
        by: Principal,
        idempotency_key: str,
        payload: object,
        shown_digest: str | None,
    ) -> Outcome:
        """Answer as an operator."""
        with self._world.rejections("continuation", continuation_id):
            document = await document_of(payload, self._world.policy.json_limits)
            key = idempotency_key_of(idempotency_key)
            digest = _shown_digest_of(shown_digest)
            caller = principal_of(by, self._world.scope)
            if caller is None:
                raise InvalidRequest(issues=[Issue("/by", "type", "must be a Principal")])
            command = Resume(by=caller.actor(), idempotency_key=key, payload=document, shown_digest=digest)
            return await self._decide(continuation_id, command, caller=caller)

    async def cancel(
        self, continuation_id: str, *, reason: str | None, expected_version: int | None, by: Principal | None
    ) -> Outcome:
        """Take a question back."""
        with self._world.rejections("continuation", continuation_id):
            caller = principal_of(by, self._world.scope)
            command = Cancel(
                by=actor_of(caller), reason=reason_of(reason), expected_version=expected_version_of(expected_version)
            )
            return await self._decide(continuation_id, command, caller=caller)

    async def expire(self, continuation_id: str, *, hint: datetime | None = None) -> Outcome:
        """Record an expiry whose time has passed by the store's clock; otherwise change nothing.

        ``hint`` is a time that has been reached by the store's clock, whatever this machine's says.
        """
        return await self._decide(continuation_id, Expire(), caller=None, hint=hint)

    async def _decide(
        self, continuation_id: str, command: Command, *, caller: Principal | None, hint: datetime | None = None
    ) -> Outcome:
        noun_id = continuation_id_of(continuation_id)
        cached = None if isinstance(command, Expire) else self._cache.get(self._world.scope, noun_id)
        guess = None if cached is None else Guess(cached)
        settled = await self._transactor.run(
            CONTINUATIONS,
            noun_id,
            lambda state, now: self._step(state, command, now, caller=caller),
            guess=guess,
            hint=hint,
        )
        return self._outcome(settled)

    def _step(
        self, state: State | None, command: Command, now: datetime, *, caller: Principal | None
    ) -> Step[State, Event]:
        if state is not None and caller is not None:
            _require_role(caller, command, state)
        events = decide(state, command, now)
        if not events:
            return Step()
        event = events[0]
        if state is not None and isinstance(event, Resumed) and self._world.policy.check_answers:
            self._answers.require_valid(state.continuation, event.payload)
        overtaken = isinstance(event, Expired) and not isinstance(command, Expire)
        return Step(
            events=events,
            head=continuation_head_after(state, event),
            due=due_of(event),
            token_hash=command.token_hash if isinstance(command, Resume) and not overtaken else None,
            rows=self._audit(state, event, caller),
            go_on=overtaken,
        )

    def _outcome(self, settled: Settled[State]) -> Outcome:
        self._cache.put(self._world.scope, settled.state)
        envelope = settled.state.continuation
        if not settled.replayed:
            self._world.observe(
                "transition", "continuation", envelope.id, status=envelope.status.value, version=envelope.version
            )
        return Outcome(continuation=envelope, replayed=settled.replayed)

    def _audit(self, state: State | None, event: Event, caller: Principal | None) -> tuple[AuditRow, ...]:
        """Return a row where a person decided; the log itself says all the rest."""
        if state is None or caller is None or isinstance(event, Expired):
            return ()
        envelope = state.continuation
        content: Document | None = event.payload if isinstance(event, Resumed) else None
        return (
            AuditRow(
                id=self._world.ids.event_id(),
                action="continuation.resume" if isinstance(event, Resumed) else "continuation.cancel",
                noun="continuation",
                noun_id=envelope.id,
                correlation=envelope.correlation_id,
                actor=f"{caller.role.value}:{caller.id}",
                digest=None if content is None else content.digest,
            ),
        )


def _require_role(caller: Principal, command: Command, state: State) -> None:
    if isinstance(command, Cancel):
        require_may_govern(caller, state.created_by)
        return
    if isinstance(command, Resume) and command.token_hash is None:
        require_may_answer(caller)
    is_approval = state.continuation.question.kind is QuestionKind.APPROVAL
    if caller.role is Role.MESSENGER or (caller.role is Role.AGENT and is_approval):
        raise Forbidden


def _shown_digest_of(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidRequest(issues=[Issue("/shownDigest", "type", "must be text")])
