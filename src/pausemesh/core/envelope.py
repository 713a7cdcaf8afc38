"""What everybody may see of a continuation: the envelope, in Python and as JSON."""

import dataclasses
import enum
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from pausemesh.core.document import Document
from pausemesh.core.issue import RecordedOutcome
from pausemesh.core.principal import Actor
from pausemesh.core.question import Question, read_question
from pausemesh.core.values import SCHEMA_VERSION, JsonValue, time_to_text


class Status(enum.StrEnum):
    """Where a continuation is in its life."""

    PENDING = "pending"
    RESUMED = "resumed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class AnswerableBy(enum.StrEnum):
    """By which way an answer may come: with the resume token, or from an operator."""

    TOKEN = "token"  # noqa: S105 - a way to answer, no secret
    OPERATOR = "operator"


class ClaimStatus(enum.StrEnum):
    """Where the right to go on is."""

    OPEN = "open"
    HELD = "held"
    LAPSED = "lapsed"
    DONE = "done"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """Who goes on with a decided continuation; times are UTC, by the store's clock."""

    status: ClaimStatus
    fence: int
    worker: str | None = None
    lease_until: datetime | None = None
    done_at: datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """A durable question and, once there is one, its outcome.

    ``payload``, ``metadata`` and ``resume_payload`` are plain JSON, a fresh copy at each look. Times are UTC;
    ``expires_at`` is in whole milliseconds. ``claim`` is filled by reads alone, never in a recorded outcome.
    """

    id: str
    correlation_id: str
    version: int
    status: Status
    created_at: datetime
    expires_at: datetime | None
    owner: str | None
    answerable_by: tuple[AnswerableBy, ...]
    payload_document: Document = dataclasses.field(repr=False)
    metadata_document: Document = dataclasses.field(repr=False)
    shown_digest: str
    queue: str | None = None
    created_by: str | None = None
    resumed_at: datetime | None = None
    idempotency_key: str | None = None
    resume_document: Document | None = dataclasses.field(default=None, repr=False)
    by: Actor | None = None
    cancelled_at: datetime | None = None
    reason: str | None = dataclasses.field(default=None, repr=False)
    expired_at: datetime | None = None
    claim: ClaimView | None = None

    @property
    def payload(self) -> JsonValue:
        """What was asked."""
        return self.payload_document.value

    @property
    def metadata(self) -> JsonValue:
        """What the creator attached, an object."""
        return self.metadata_document.value

    @property
    def resume_payload(self) -> JsonValue:
        """What was answered; None also while there is no answer, which ``status`` tells apart."""
        return None if self.resume_document is None else self.resume_document.value

    @property
    def question(self) -> Question:
        """The members of the payload that PauseMesh reads."""
        return read_question(self.payload_document)

    @property
    def decided_at(self) -> datetime | None:
        """When it was resumed, cancelled or expired."""
        return self.resumed_at or self.cancelled_at or self.expired_at

    @property
    def recorded(self) -> RecordedOutcome | None:
        """What a refused caller is told of the decision."""
        if self.decided_at is None:
            return None
        return RecordedOutcome(status=self.status.value, version=self.version, decided_at=self.decided_at)


_DECISION_MEMBERS: Final = {
    Status.PENDING: (),
    Status.RESUMED: ("resumedAt", "idempotencyKey", "resumePayload", "by"),
    Status.CANCELLED: ("cancelledAt", "reason", "by"),
    Status.EXPIRED: ("expiredAt",),
}
_OPTIONAL_MEMBERS: Final = frozenset({"reason"})


def continuation_to_json(continuation: Continuation) -> dict[str, JsonValue]:
    """Return the envelope as JSON in camelCase; never a token or its hash."""
    return envelope_members(continuation, lambda document: document.value)


def envelope_members(continuation: Continuation, embed: Callable[[Document], Any]) -> dict[str, Any]:
    """Return the members of the envelope's JSON; ``embed`` says how a document appears among them."""
    answer = continuation.resume_document
    envelope: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "continuationId": continuation.id,
        "correlationId": continuation.correlation_id,
        "version": continuation.version,
        "status": continuation.status.value,
        "createdAt": time_to_text(continuation.created_at),
        "expiresAt": optional_time_to_text(continuation.expires_at),
        "owner": continuation.owner,
        "answerableBy": [way.value for way in continuation.answerable_by],
        "payload": embed(continuation.payload_document),
        "shownDigest": continuation.shown_digest,
        "metadata": embed(continuation.metadata_document),
    }
    decision = {
        "resumedAt": optional_time_to_text(continuation.resumed_at),
        "idempotencyKey": continuation.idempotency_key,
        "resumePayload": None if answer is None else embed(answer),
        "by": actor_to_json(continuation.by),
        "cancelledAt": optional_time_to_text(continuation.cancelled_at),
        "reason": continuation.reason,
        "expiredAt": optional_time_to_text(continuation.expired_at),
    }
    for member in _DECISION_MEMBERS[continuation.status]:
        if decision[member] is not None or member not in _OPTIONAL_MEMBERS:
            envelope[member] = decision[member]
    if continuation.claim is not None:
        envelope["claim"] = claim_to_json(continuation.claim)
    return envelope


def claim_to_json(claim: ClaimView) -> dict[str, JsonValue]:
    """Return a claim as JSON; members without a value are left out."""
    optional: dict[str, JsonValue] = {
        "worker": claim.worker,
        "leaseUntil": optional_time_to_text(claim.lease_until),
        "doneAt": optional_time_to_text(claim.done_at),
    }
    present = {name: value for name, value in optional.items() if value is not None}
    return {"status": claim.status.value, "fence": claim.fence, **present}


def actor_to_json(actor: Actor | None) -> JsonValue:
    """Return who decided as JSON; an actor without an id has no ``id`` member."""
    if actor is None:
        return None
    return {"kind": actor.kind.value} if actor.id is None else {"kind": actor.kind.value, "id": actor.id}


def optional_time_to_text(value: datetime | None) -> str | None:
    """Write a UTC time as ISO 8601 with milliseconds, or nothing."""
    return None if value is None else time_to_text(value)
