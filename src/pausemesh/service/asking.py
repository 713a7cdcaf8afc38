"""Asking: a question is created once, found again under its key, and can be given another token."""

import base64
import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.continuation import Create, Reissue, State, decide
from pausemesh.core.continuation_events import Created, Event, Expired
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy, Continuation, Status
from pausemesh.core.errors import OutcomeUnknown
from pausemesh.core.principal import BY_SYSTEM, Actor, Principal, Role, require_may_create, require_may_govern
from pausemesh.core.question import QuestionKind, read_question, shown_digest
from pausemesh.core.tokens import hash_token, same_hash
from pausemesh.core.values import JsonInput, JsonValue, check_foreign_id, check_own_id, time_to_text
from pausemesh.service.answers import AnswerChecks
from pausemesh.service.cache import StateCache
from pausemesh.service.doubt import still_in_doubt
from pausemesh.service.nouns import CONTINUATIONS, continuation_head_after, due_of
from pausemesh.service.requests import (
    answerable_by_of,
    continuation_id_of,
    document_of,
    expected_version_of,
    expiry_of,
    idempotency_key_of,
    object_of,
    principal_of,
    require_timely,
)
from pausemesh.service.transact import Guess, Step, Transactor
from pausemesh.service.world import World

_KEYED_ID_PREFIX: Final = "q"
_KEYED_ID_CHARACTERS: Final = 26
_NO_METADATA: Final = Document.of({})
_EITHER_WAY: Final = (AnswerableBy.TOKEN, AnswerableBy.OPERATOR)
_BY_OPERATOR_ONLY: Final = (AnswerableBy.OPERATOR,)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CreatedContinuation:
    """A question, and its resume token where this call issued one: it is seen here and never again.

    ``replayed``: the same request under the same key created it before; it is shown as it was created.
    """

    continuation: Continuation
    resume_token: str | None = dataclasses.field(repr=False)
    replayed: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CreationRequest:
    """What a caller says who asks; see ``ContinuationService.create`` for the members."""

    payload: JsonInput
    correlation_id: str | None = None
    continuation_id: str | None = None
    expires_at: datetime | None = None
    expires_in: timedelta | None = None
    metadata: Mapping[str, JsonInput] | None = None
    answerable_by: Iterable[str] | None = None
    queue: str | None = None
    idempotency_key: str | None = None
    by: Principal | None = None


class Asking:
    """Creates questions and reissues their tokens."""

    def __init__(self, world: World, transactor: Transactor, cache: StateCache, answers: AnswerChecks) -> None:
        self._world = world
        self._transactor = transactor
        self._cache = cache
        self._answers = answers

    async def create(self, request: CreationRequest, *, asker: str | None = None) -> CreatedContinuation:
        """Ask; under a key only once. ``asker`` takes the principal's place in a keyed id."""
        with self._world.rejections("continuation", request.continuation_id):
            created, token = await self._prepare(request, asker)
            state, is_ours = await self._stored(created)
        if not is_ours:
            return CreatedContinuation(
                continuation=await self._as_created(created.id), resume_token=None, replayed=True
            )
        self._cache.put(self._world.scope, state)
        self._world.observe(
            "created", "continuation", created.id, status=Status.PENDING.value, version=state.continuation.version
        )
        return CreatedContinuation(continuation=state.continuation, resume_token=token)

    async def _stored(self, created: Created) -> tuple[State, bool]:
        """Store a creation, and tell whether it was this call that did; a lost reply is settled by the token's hash."""
        try:
            settled = await self._transactor.run(
                CONTINUATIONS, created.id, lambda state, now: self._step(state, created, now), guess=Guess(None)
            )
        except OutcomeUnknown:
            with still_in_doubt():
                settled = await self._transactor.run(
                    CONTINUATIONS, created.id, lambda state, now: self._step_again(state, created, now)
                )
            return settled.state, not settled.replayed or _is_stored(settled.state, created)
        return settled.state, not settled.replayed

    async def reissue(
        self, continuation_id: str, *, expected_version: int | None, by: Principal | None
    ) -> CreatedContinuation:
        """Put a new token in the place of the old one, which dies."""
        token = self._world.tokens.issue()
        caller = principal_of(by, self._world.scope)
        command = Reissue(
            by=actor_of(caller), token_hash=hash_token(token), expected_version=expected_version_of(expected_version)
        )

        def step(state: State | None, now: datetime) -> Step[State, Event]:
            if caller is not None and state is not None:
                require_may_govern(caller, state.created_by)
            events = decide(state, command, now)
            event = events[0]
            head = continuation_head_after(state, event)
            return Step(events=events, head=head, due=due_of(event), go_on=isinstance(event, Expired))

        with self._world.rejections("continuation", continuation_id):
            noun_id = continuation_id_of(continuation_id)
            settled = await self._transactor.run(CONTINUATIONS, noun_id, step)
        self._cache.put(self._world.scope, settled.state)
        envelope = settled.state.continuation
        self._world.observe(
            "transition", "continuation", continuation_id, status=envelope.status.value, version=envelope.version
        )
        return CreatedContinuation(continuation=envelope, resume_token=token)

    async def _prepare(self, request: CreationRequest, asker: str | None) -> tuple[Created, str | None]:
        policy = self._world.policy
        by = principal_of(request.by, self._world.scope)
        payload = await document_of(request.payload, policy.json_limits)
        metadata = _NO_METADATA
        if request.metadata is not None:
            metadata = await document_of(object_of(request.metadata, "/metadata"), policy.json_limits)
        question = read_question(payload)
        key = None if request.idempotency_key is None else idempotency_key_of(request.idempotency_key)
        noun_id = self._id_of(request, by, key, asker)
        now = self._world.clock.now()
        expires_at = expiry_of(request.expires_at, request.expires_in, policy, now)
        if key is None:
            require_timely(expires_at, policy, now)  # a repeat under a key finds its question however late it is
        named = answerable_by_of(request.answerable_by)
        ways = named or _default_ways(by, question.kind)
        queue = None if request.queue is None else check_own_id(request.queue, "/queue")
        correlation_id = self._correlation_of(request)
        if by is not None:
            require_may_create(by)
        self._answers.require_allowed(question)
        token = self._world.tokens.issue() if AnswerableBy.TOKEN in ways else None
        created = Created(
            id=noun_id,
            correlation_id=correlation_id,
            payload=payload,
            metadata=metadata,
            shown_digest=shown_digest(noun_id, payload, expires_at),
            expires_at=expires_at,
            answerable_by=ways,
            by=actor_of(by),
            token_hash=None if token is None else hash_token(token),
            queue=queue,
            creation_key=key,
            request_digest=None if key is None else _request_digest(request, payload, metadata, named),
        )
        return created, token

    def _step(self, state: State | None, created: Created, now: datetime) -> Step[State, Event]:
        events = decide(state, Create(created=created), now)
        if events and created.expires_at is not None:
            require_timely(created.expires_at, self._world.policy, now)
        return Step(events=events, head=continuation_head_after(state, created))

    def _step_again(self, state: State | None, created: Created, now: datetime) -> Step[State, Event]:
        return Step() if _is_stored(state, created) else self._step(state, created, now)

    def _correlation_of(self, request: CreationRequest) -> str:
        if request.correlation_id is None:
            return self._world.ids.new("c")
        return check_foreign_id(request.correlation_id, "/correlationId")

    def _id_of(self, request: CreationRequest, by: Principal | None, key: str | None, asker: str | None) -> str:
        if request.continuation_id is not None:
            return check_own_id(request.continuation_id, "/continuationId")
        if key is None:
            return self._world.ids.new(_KEYED_ID_PREFIX)
        return keyed_id(self._world.scope, asker or _key_owner(by), key)

    async def _as_created(self, continuation_id: str) -> Continuation:
        stream = await self._world.store.load(self._world.scope, CONTINUATIONS.stream_of(continuation_id))
        assert stream is not None, "streams are never deleted"
        return CONTINUATIONS.replay(self._transactor.stamped(CONTINUATIONS, stream)[:1]).continuation


def keyed_id(scope: str, who: str, key: str) -> str:
    """Return the id of a keyed question: ``q_`` and 26 base32 characters of SHA-256 over [scope, who, key]."""
    digest = hashlib.sha256(canonical_bytes([scope, who, key])).digest()
    text = base64.b32encode(digest).decode("ascii").lower()
    return f"{_KEYED_ID_PREFIX}_{text[:_KEYED_ID_CHARACTERS]}"


def actor_of(principal: Principal | None) -> Actor:
    """Return how an event remembers the caller; without one it is the host itself."""
    return BY_SYSTEM if principal is None else principal.actor()


def _is_stored(state: State | None, created: Created) -> bool:
    """Tell whether a question is the very one of this call: its token, or else what was drawn for it, is the same."""
    if state is None or state.continuation.version != 1:
        return False
    seen = state.continuation
    if created.token_hash is not None:
        return same_hash(created.token_hash, state.token_hash)
    return (seen.correlation_id, seen.shown_digest, state.created_by, state.request_digest) == (
        created.correlation_id,
        created.shown_digest,
        created.by,
        created.request_digest,
    )


def _default_ways(by: Principal | None, kind: QuestionKind) -> tuple[AnswerableBy, ...]:
    """Return who may answer where nobody was named: an agent that asks for approval gets no token."""
    from_agent = by is not None and by.role is Role.AGENT
    return _BY_OPERATOR_ONLY if from_agent and kind is QuestionKind.APPROVAL else _EITHER_WAY


def _key_owner(by: Principal | None) -> str:
    """Return whose key it is; no capacity has an empty name, so that these never meet ``mesh.ask``'s keys."""
    actor = actor_of(by)
    return f"{actor.kind.value}:{actor.id or ''}"


def _request_digest(
    request: CreationRequest, payload: Document, metadata: Document, ways: tuple[AnswerableBy, ...] | None
) -> str:
    """Return what tells one keyed request from another: all that the caller said, as it was said."""
    at, within = request.expires_at, request.expires_in
    said: list[JsonValue] = [
        "create-v1",
        payload.digest,
        metadata.digest,
        request.correlation_id,
        None if at is None else time_to_text(at),
        None if within is None else round(within.total_seconds() * 1_000),
        None if ways is None else [way.value for way in ways],
        request.queue,
    ]
    return Document.of(said).digest
