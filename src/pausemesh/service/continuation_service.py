"""The continuation's use cases behind one name, over ports that the host wires."""

import dataclasses
import enum
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from pausemesh.core import limits
from pausemesh.core.continuation_events import Event
from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.policy import Policy
from pausemesh.core.principal import DEFAULT_SCOPE, Principal
from pausemesh.core.question import QuestionKind
from pausemesh.core.stored_event import Stamped
from pausemesh.core.values import JsonInput, check_aware, check_foreign_id, check_own_id
from pausemesh.ports import Cipher, Clock, EventStore, Ids, Observer, SchemaValidator, Tokens
from pausemesh.service.asking import Asking, CreatedContinuation, CreationRequest
from pausemesh.service.deciding import Deciding, Outcome
from pausemesh.service.reads import Filters, Page, Reads
from pausemesh.service.shared import Shared
from pausemesh.service.sweeper import Sweeper
from pausemesh.service.transact import Transactor
from pausemesh.service.world import World

EnumT = TypeVar("EnumT", bound=enum.StrEnum)


class ContinuationService:
    """Creates, decides and shows durable questions in one scope of one store.

    Every method may raise StoreUnavailable (surely nothing written), OutcomeUnknown (the same request with the same
    key settles it), StoreFull and StoreCorrupt. Payloads, metadata and answers are plain JSON within the policy's
    limits; where they are not, InvalidJson or PayloadTooLarge is raised. Times have a zone.
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
        self._world = World(
            store=store,
            clock=clock,
            tokens=tokens,
            ids=ids,
            validator=validator,
            observer=observer,
            policy=policy or Policy(),
            cipher=cipher,
            scope=check_own_id(scope, "/scope"),
        )
        self._shared = shared or Shared(store, validator)
        cache, answers = self._shared.cache, self._shared.answers
        self._transactor = Transactor(self._world)
        self._asking = Asking(self._world, self._transactor, cache, answers)
        self._deciding = Deciding(self._world, self._transactor, cache, answers)
        self._reads = Reads(self._world, self._transactor, cache, self._deciding)

        def deciding_in(scope: str) -> Deciding:
            there = dataclasses.replace(self._world, scope=scope)
            return Deciding(there, Transactor(there), cache, answers)

        self._sweeper = Sweeper(self._world, deciding_in)

    async def create(
        self,
        *,
        payload: JsonInput,
        correlation_id: str | None = None,
        continuation_id: str | None = None,
        expires_at: datetime | None = None,
        expires_in: timedelta | None = None,
        metadata: Mapping[str, JsonInput] | None = None,
        answerable_by: Iterable[str] | None = None,
        queue: str | None = None,
        idempotency_key: str | None = None,
        by: Principal | None = None,
    ) -> CreatedContinuation:
        """Ask a question that survives, and get its resume token: it is in this answer and in no other.

        Args:
            payload: any JSON. Of an object PauseMesh reads ``kind`` (input, approval, authorization), ``message``,
                ``responseSchema`` (JSON Schema 2020-12) and ``action`` ({name, arguments}); the rest is the host's.
            correlation_id: the host's own id of what this belongs to; generated where it is left out.
            continuation_id: an id of the host's choice; generated where it is left out.
            expires_at: when the question expires; excludes ``expires_in``. Without both the policy's lifetime counts.
            expires_in: how long the question lives.
            metadata: an object that is kept with the question.
            answerable_by: ``token``, ``operator`` or both (the default; an agent's approval: operator alone).
            queue: where workers look for the decision with ``claim_next``.
            idempotency_key: makes a repeat safe: the same request finds the first question, with no token.
            by: who asks; the host itself where it is left out.

        Raises:
            InvalidRequest: a member is not what it must be, or the expiry is past or beyond the maximum.
            SchemaNotAllowed: the response schema cannot be checked safely.
            ContinuationExists: the id is taken; the first question and its token stay valid.
            IdempotencyConflict: the key was used with another request.
            Forbidden: the role may not ask.
        """
        request = CreationRequest(
            payload=payload,
            correlation_id=correlation_id,
            continuation_id=continuation_id,
            expires_at=expires_at,
            expires_in=expires_in,
            metadata=metadata,
            answerable_by=answerable_by,
            queue=queue,
            idempotency_key=idempotency_key,
            by=by,
        )
        return await self._asking.create(request)

    async def resume(
        self,
        continuation_id: str,
        *,
        token: str,
        idempotency_key: str,
        payload: JsonInput,
        shown_digest: str | None = None,
        by: Principal | None = None,
    ) -> Outcome:
        """Answer with the resume token; an exact retry gets the recorded outcome.

        Args:
            continuation_id: the question.
            token: the resume token; consumed by the answer that counts.
            idempotency_key: 1 to 200 characters, edge blanks aside.
            payload: the answer, any JSON; null is an answer.
            shown_digest: of what was shown; where it is given it must match.
            by: who calls, where the host knows; an agent never resumes an approval.

        Raises:
            TokenMismatch: in every state, before anything about the state is told.
            IdempotencyConflict: the key was used with another answer.
            TokenAlreadyUsed, ContinuationCancelled, ContinuationExpired: something else was first.
            DigestMismatch: what was shown is not what is stored.
            AnswerInvalid: the answer does not match the response schema; the question stays open.
            ContinuationNotFound, Forbidden: as they say.
        """
        return await self._deciding.resume(
            continuation_id,
            token=token,
            idempotency_key=idempotency_key,
            payload=payload,
            shown_digest=shown_digest,
            by=by,
        )

    async def answer(
        self,
        continuation_id: str,
        *,
        by: Principal,
        idempotency_key: str,
        payload: JsonInput,
        shown_digest: str | None = None,
    ) -> Outcome:
        """Answer as an operator, without a token; otherwise as ``resume``.

        Raises:
            Forbidden: the role is neither editor nor admin, or the question is not answerable by an operator.
        """
        return await self._deciding.answer(
            continuation_id, by=by, idempotency_key=idempotency_key, payload=payload, shown_digest=shown_digest
        )

    async def cancel(
        self,
        continuation_id: str,
        *,
        reason: str | None = None,
        expected_version: int | None = None,
        by: Principal | None = None,
    ) -> Outcome:
        """Take a question back; an exact retry (same reason, same fence) gets the recorded outcome.

        Raises:
            VersionConflict: ``expected_version`` is not the actual one.
            InvalidTransition, ContinuationExpired: it ended otherwise.
            ContinuationNotFound, Forbidden: as they say.
        """
        return await self._deciding.cancel(continuation_id, reason=reason, expected_version=expected_version, by=by)

    async def reissue_token(
        self, continuation_id: str, *, expected_version: int | None = None, by: Principal | None = None
    ) -> CreatedContinuation:
        """Get a new resume token where the old one was lost; the old one dies. At most 8 times a question.

        Raises:
            InvalidTransition: it was reissued 8 times.
            TokenAlreadyUsed, ContinuationCancelled, ContinuationExpired: the question is decided.
            VersionConflict, ContinuationNotFound, Forbidden: as they say.
        """
        return await self._asking.reissue(continuation_id, expected_version=expected_version, by=by)

    async def inspect(self, continuation_id: str) -> Continuation:
        """Return a question as it is now, with its claim once it is decided.

        Raises:
            ContinuationNotFound: there is none.
        """
        return await self._reads.inspect(continuation_id)

    async def history(self, continuation_id: str) -> tuple[Stamped[Event], ...]:
        """Return the events of a question, oldest first.

        Raises:
            ContinuationNotFound: there is none.
        """
        return await self._reads.history(continuation_id)

    async def list(
        self,
        *,
        status: str | None = None,
        correlation_id: str | None = None,
        kind: str | None = None,
        due_before: datetime | None = None,
        created_by: str | None = None,
        limit: int = limits.PAGE,
        cursor: str | None = None,
    ) -> Page:
        """Return questions, oldest first (those of one correlation: by id), at most ``limit`` (1 to 200) a page.

        A page may be shorter than ``limit`` and still have a cursor to go on with.

        Raises:
            InvalidRequest: a filter is not what it must be.
            InvalidCursor: the cursor is not one of this list.
        """
        filters = Filters(
            status=None if status is None else _member(Status, status, "/status"),
            correlation_id=None if correlation_id is None else check_foreign_id(correlation_id, "/correlationId"),
            kind=None if kind is None else _member(QuestionKind, kind, "/kind"),
            due_before=None if due_before is None else check_aware(due_before, "/dueBefore"),
            created_by=None if created_by is None else check_foreign_id(created_by, "/createdBy"),
        )
        return await self._reads.page(filters, limit=limit, cursor=cursor)

    async def sweep(self, *, limit: int = limits.DUE_MAX) -> int:
        """Expire overdue questions of every scope, the longest overdue first; return how many this call expired."""
        return await self._sweeper.sweep(limit=limit)


def _member(kind: type[EnumT], value: object, path: str) -> EnumT:
    try:
        return kind(value if isinstance(value, str) else "")
    except ValueError:
        raise InvalidRequest(issues=[Issue(path, "enum", "is not one of the known values")]) from None
