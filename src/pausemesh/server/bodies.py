"""The shapes of what is sent and answered under ``/v1``; requests are checked against them, OpenAPI shows them."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from pausemesh.core import limits

OwnId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.OWN_ID_CHARACTERS,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9 ._:~@-]{0,198}[A-Za-z0-9._:~@-])?$",
        description="An id of ours, without a blank at its edges.",
    ),
]
ForeignId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.FOREIGN_ID_CHARACTERS,
        description="An id of the caller's own, without control characters.",
    ),
]
Time = Annotated[
    str, Meta(description="UTC, RFC 3339 with Z, to the millisecond.", examples=["2026-12-01T09:30:00.000Z"])
]
Digest = Annotated[str, Meta(description="SHA-256, lower-case hex.")]
Version = Annotated[int, Meta(ge=1)]
Fence = Annotated[int, Meta(ge=1, description="The number of this claim among all claims of the question.")]
LeaseSeconds = Annotated[int, Meta(ge=limits.LEASE_MIN_SECONDS, le=limits.LEASE_MAX_SECONDS)]
Way = Literal["token", "operator"]
Status = Literal["pending", "resumed", "cancelled", "expired"]


class Action(Struct, forbid_unknown_fields=True):
    """What is to be done: a name, and its exact arguments."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    arguments: dict[str, Any] | UnsetType = UNSET


class CreateContinuation(Struct, rename="camel", forbid_unknown_fields=True):
    """A question.

    Of a payload that is an object PauseMesh reads ``kind`` (input, approval, authorization), ``message``,
    ``responseSchema`` (JSON Schema 2020-12) and ``action`` ({name, arguments}); the rest is the host's own.
    """

    payload: Any
    correlation_id: ForeignId | UnsetType = UNSET
    continuation_id: OwnId | UnsetType = UNSET
    expires_at: Time | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    answerable_by: Annotated[list[Way], Meta(min_length=1)] | UnsetType = UNSET
    queue: OwnId | UnsetType = UNSET


class ReissueToken(Struct, rename="camel", forbid_unknown_fields=True):
    """A wish for another resume token, perhaps only at a version."""

    expected_version: Version | UnsetType = UNSET


class Resume(Struct, rename="camel", forbid_unknown_fields=True):
    """An answer, any JSON; where the digest of what was shown is given, it must be right."""

    payload: Any
    shown_digest: Digest | UnsetType = UNSET


class AnswerQuestion(Struct, rename="camel", forbid_unknown_fields=True):
    """An operator's answer to what was shown."""

    payload: Any
    shown_digest: Digest


class CancelContinuation(Struct, rename="camel", forbid_unknown_fields=True):
    """Why a question is taken back, perhaps only at a version."""

    reason: Annotated[str, Meta(max_length=limits.REASON_CHARACTERS)] | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET


class TakeClaim(Struct, rename="camel", forbid_unknown_fields=True):
    """Who wants to go on, for how long at first, and, for an approval, with what."""

    worker: Annotated[str, Meta(min_length=1, max_length=limits.WORKER_CHARACTERS)]
    lease_seconds: LeaseSeconds
    action: Action | UnsetType = UNSET


class TakeNextClaim(Struct, rename="camel", forbid_unknown_fields=True):
    """Who wants to go on with the next decision of a queue, and how many seconds to wait for one."""

    queue: OwnId
    worker: Annotated[str, Meta(min_length=1, max_length=limits.WORKER_CHARACTERS)]
    lease_seconds: LeaseSeconds
    wait: Annotated[float, Meta(ge=0, le=25)] = 0


class RenewClaim(Struct, rename="camel", forbid_unknown_fields=True):
    """A wish to go on holding a claim, for so many seconds from now."""

    fence: Fence
    lease_seconds: LeaseSeconds = limits.LEASE_SECONDS


class FinishClaim(Struct, forbid_unknown_fields=True):
    """The end of a claim, with what later callers are told."""

    fence: Fence
    result: Any = None


class ReleaseClaim(Struct, forbid_unknown_fields=True):
    """A claim that is given back."""

    fence: Fence


class FailClaim(Struct, forbid_unknown_fields=True):
    """A claim that is given back because this worker cannot go on."""

    fence: Fence
    reason: Annotated[str, Meta(max_length=limits.REASON_CHARACTERS)] | UnsetType = UNSET


class StartEffect(Struct, forbid_unknown_fields=True):
    """What is about to happen; ``kind`` (the key where it is left out) is compared with an approval's action."""

    fence: Fence
    key: OwnId
    kind: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET


class RecordOutcome(Struct, forbid_unknown_fields=True):
    """What came of it: ``failed`` says that it surely did not happen."""

    fence: Fence
    status: Literal["completed", "failed"]
    result: Any = None


class ResolveEffect(Struct, forbid_unknown_fields=True):
    """What somebody found who looked."""

    outcome: Literal["done", "not_done"]
    evidence: Annotated[str, Meta(min_length=1, max_length=limits.EVIDENCE_CHARACTERS)]
    result: Any = None


class Actor(Struct, omit_defaults=True):
    """In which capacity somebody decided, and who it was."""

    kind: Literal["token", "operator", "agent", "requester", "system"]
    id: str | UnsetType = UNSET


class Claim(Struct, rename="camel"):
    """The right to go on with a decision."""

    claim_id: str
    continuation_id: str
    worker: str
    fence: int
    status: Literal["held", "done", "lapsed", "open"]
    lease_until: Time | UnsetType = UNSET
    done_at: Time | UnsetType = UNSET


class ClaimSummary(Struct, rename="camel"):
    """Who goes on, as far as a reader of the question may see."""

    status: Literal["open", "held", "lapsed", "done"]
    fence: int
    worker: str | UnsetType = UNSET
    lease_until: Time | UnsetType = UNSET
    done_at: Time | UnsetType = UNSET


class Continuation(Struct, rename="camel"):
    """A durable question and, once there is one, its outcome."""

    schema_version: int
    continuation_id: str
    correlation_id: str
    version: int
    status: Status
    created_at: Time
    expires_at: Time | None
    owner: str | None
    answerable_by: list[Way]
    payload: Any
    shown_digest: Digest
    metadata: dict[str, Any]
    resumed_at: Time | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    resume_payload: Any | UnsetType = UNSET
    by: Actor | UnsetType = UNSET
    cancelled_at: Time | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    expired_at: Time | UnsetType = UNSET
    claim: ClaimSummary | UnsetType = UNSET


class CreatedContinuation(Struct, rename="camel"):
    """A question and its resume token: it is in this answer and in no other."""

    continuation: Continuation
    resume_token: str | None


class OneContinuation(Struct):
    """A question as it is now."""

    continuation: Continuation


class DecidedContinuation(Struct):
    """An outcome; ``replayed``: it was recorded by an earlier call."""

    continuation: Continuation
    replayed: bool


class ContinuationPage(Struct, rename="camel"):
    """Questions, oldest first; null ends the list."""

    continuations: list[Continuation]
    next_cursor: str | None


class Event(Struct):
    """Something that happened to a question; ``data`` is what was recorded, never a token or its hash."""

    id: str
    version: int
    type: str
    at: Time
    data: dict[str, Any]


class EventList(Struct):
    """The whole history of a question."""

    events: list[Event]


class OneClaim(Struct):
    """A claim."""

    claim: Claim


class TakenClaim(Struct):
    """A claim and the decision that it is about."""

    claim: Claim
    continuation: Continuation


class Effect(Struct):
    """Something done to the outside world, as the ledger knows it."""

    key: str
    kind: str
    status: Literal["started", "completed", "failed", "unknown"]
    result: Any | UnsetType = UNSET


class OneEffect(Struct):
    """An effect."""

    effect: Effect


class StartedEffect(Struct):
    """An effect; ``replayed``: an earlier call started it."""

    effect: Effect
    replayed: bool


class RecordedEffect(Struct, rename="camel"):
    """An effect with all that the ledger knows; ``fence``, ``worker`` and ``startedAt`` are of its last start."""

    key: str
    kind: str
    status: Literal["started", "completed", "failed", "unknown"]
    fence: int
    worker: str
    attempts: int
    started_at: Time
    decided_at: Time | UnsetType = UNSET
    evidence: str | UnsetType = UNSET
    resolved_by: Actor | UnsetType = UNSET
    result: Any | UnsetType = UNSET


class EffectList(Struct):
    """The effects of a question's claims, by key."""

    effects: list[RecordedEffect]


class Healthy(Struct):
    """The process answers."""

    status: Literal["ok"]


class ComponentCheck(Struct):
    """One thing that has to work."""

    component: str
    status: Literal["ready", "not_configured", "unavailable"]


class Readiness(Struct):
    """Whether requests can be served."""

    status: Literal["ready", "not_ready"]
    checks: list[ComponentCheck]


class ProblemIssue(Struct):
    """One failing place: a JSON Pointer, a stable reason, and a sentence."""

    path: str
    reason: str
    message: str


class Recorded(Struct, rename="camel"):
    """The decision that was first."""

    status: str
    version: int
    decided_at: Time


class Problem(Struct, rename="camel"):
    """An error (RFC 9457); ``code`` is stable."""

    type: str
    title: str
    status: int
    code: str
    detail: str | UnsetType = UNSET
    issues: list[ProblemIssue] | UnsetType = UNSET
    expected: int | UnsetType = UNSET
    actual: int | UnsetType = UNSET
    recorded: Recorded | UnsetType = UNSET
    expires_at: Time | UnsetType = UNSET
    lease_until: Time | UnsetType = UNSET
