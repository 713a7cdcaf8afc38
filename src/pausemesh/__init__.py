"""PauseMesh: agents stop and wait for a person, and exactly one worker goes on with the one answer that counts."""

from pausemesh.adapters.clock import SystemClock
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.adapters.json_schema import JsonSchemaValidator
from pausemesh.adapters.observer import NoopObserver
from pausemesh.adapters.tokens import Sha256TokenIssuer
from pausemesh.core.effect import Effect, EffectStatus
from pausemesh.core.envelope import (
    AnswerableBy,
    ClaimStatus,
    ClaimView,
    Continuation,
    Status,
    continuation_to_json,
)
from pausemesh.core.errors import (
    ActionMismatch,
    AnswerInvalid,
    ClaimDone,
    ClaimHeld,
    ClaimNotFound,
    Conflict,
    ContinuationCancelled,
    ContinuationExists,
    ContinuationExpired,
    ContinuationNotFound,
    DigestMismatch,
    EffectConflict,
    EffectFailed,
    EffectUnknown,
    Forbidden,
    ForkedMesh,
    IdempotencyConflict,
    IdempotencyKeyInvalid,
    IdempotencyKeyRequired,
    InvalidCursor,
    InvalidJson,
    InvalidRequest,
    InvalidTransition,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    Owned,
    OwnedByTask,
    PauseMeshError,
    PayloadTooLarge,
    SchemaChanged,
    SchemaError,
    SchemaIncomplete,
    SchemaMissing,
    SchemaNewer,
    SchemaNotAllowed,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnsafe,
    StreamTooLong,
    TokenAlreadyUsed,
    TokenMismatch,
    UnknownSchemaVersion,
    VersionConflict,
    WaitTimeout,
)
from pausemesh.core.issue import Issue, RecordedOutcome
from pausemesh.core.limits import JsonLimits
from pausemesh.core.policy import Policy
from pausemesh.core.principal import Actor, ActorKind, Principal, Role
from pausemesh.opening import open, open_sync
from pausemesh.ports import EventStore, Observation, Observer
from pausemesh.service.asking import CreatedContinuation
from pausemesh.service.blocking import BlockingMesh, BlockingTurn
from pausemesh.service.continuation_service import ContinuationService
from pausemesh.service.deciding import Outcome
from pausemesh.service.mesh import Mesh
from pausemesh.service.reads import Page
from pausemesh.service.turn import Turn
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore

__version__ = "0.1.0"

Expired = ContinuationExpired
Cancelled = ContinuationCancelled

__all__ = [
    "ActionMismatch",
    "Actor",
    "ActorKind",
    "AnswerInvalid",
    "AnswerableBy",
    "BlockingMesh",
    "BlockingTurn",
    "Cancelled",
    "ClaimDone",
    "ClaimHeld",
    "ClaimNotFound",
    "ClaimStatus",
    "ClaimView",
    "Conflict",
    "Continuation",
    "ContinuationCancelled",
    "ContinuationExists",
    "ContinuationExpired",
    "ContinuationNotFound",
    "ContinuationService",
    "CreatedContinuation",
    "DigestMismatch",
    "Effect",
    "EffectConflict",
    "EffectFailed",
    "EffectStatus",
    "EffectUnknown",
    "EventStore",
    "Expired",
    "Forbidden",
    "ForkedMesh",
    "IdempotencyConflict",
    "IdempotencyKeyInvalid",
    "IdempotencyKeyRequired",
    "InvalidCursor",
    "InvalidJson",
    "InvalidRequest",
    "InvalidTransition",
    "Issue",
    "JsonLimits",
    "JsonSchemaValidator",
    "LeaseLost",
    "MemoryEventStore",
    "Mesh",
    "NoopObserver",
    "NotFound",
    "Observation",
    "Observer",
    "Outcome",
    "OutcomeUnknown",
    "Overloaded",
    "Owned",
    "OwnedByTask",
    "Page",
    "PauseMeshError",
    "PayloadTooLarge",
    "Policy",
    "Principal",
    "RecordedOutcome",
    "Role",
    "SchemaChanged",
    "SchemaError",
    "SchemaIncomplete",
    "SchemaMissing",
    "SchemaNewer",
    "SchemaNotAllowed",
    "Sha256TokenIssuer",
    "SqliteEventStore",
    "Status",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "StoreUnsafe",
    "StreamTooLong",
    "SystemClock",
    "TimeOrderedIds",
    "TokenAlreadyUsed",
    "TokenMismatch",
    "Turn",
    "UnknownSchemaVersion",
    "VersionConflict",
    "WaitTimeout",
    "__version__",
    "continuation_to_json",
    "open",
    "open_sync",
]
