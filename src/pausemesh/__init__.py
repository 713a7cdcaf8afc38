"""PauseMesh: agents stop and wait for a person, and exactly one worker goes on with the one answer that counts.

The public API. Each name is loaded from its home when it is first used, so that ``import pausemesh`` costs next to
nothing in a process that only may need it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pausemesh.adapters.clock import SystemClock as SystemClock
    from pausemesh.adapters.ids import TimeOrderedIds as TimeOrderedIds
    from pausemesh.adapters.json_schema import JsonSchemaValidator as JsonSchemaValidator
    from pausemesh.adapters.observer import NoopObserver as NoopObserver
    from pausemesh.adapters.tokens import Sha256TokenIssuer as Sha256TokenIssuer
    from pausemesh.core.api_key import ApiKey as ApiKey
    from pausemesh.core.effect import (
        Effect as Effect,
    )
    from pausemesh.core.effect import (
        EffectStatus as EffectStatus,
    )
    from pausemesh.core.envelope import (
        AnswerableBy as AnswerableBy,
    )
    from pausemesh.core.envelope import (
        ClaimStatus as ClaimStatus,
    )
    from pausemesh.core.envelope import (
        ClaimView as ClaimView,
    )
    from pausemesh.core.envelope import (
        Continuation as Continuation,
    )
    from pausemesh.core.envelope import (
        Status as Status,
    )
    from pausemesh.core.envelope import (
        continuation_to_json as continuation_to_json,
    )
    from pausemesh.core.errors import (
        ActionMismatch as ActionMismatch,
    )
    from pausemesh.core.errors import (
        AnswerInvalid as AnswerInvalid,
    )
    from pausemesh.core.errors import (
        AnswerMismatch as AnswerMismatch,
    )
    from pausemesh.core.errors import (
        ApiKeyNotFound as ApiKeyNotFound,
    )
    from pausemesh.core.errors import (
        ClaimDone as ClaimDone,
    )
    from pausemesh.core.errors import (
        ClaimHeld as ClaimHeld,
    )
    from pausemesh.core.errors import (
        ClaimNotFound as ClaimNotFound,
    )
    from pausemesh.core.errors import (
        Conflict as Conflict,
    )
    from pausemesh.core.errors import (
        ContinuationCancelled as ContinuationCancelled,
    )
    from pausemesh.core.errors import (
        ContinuationExists as ContinuationExists,
    )
    from pausemesh.core.errors import (
        ContinuationExpired as ContinuationExpired,
    )
    from pausemesh.core.errors import (
        ContinuationNotFound as ContinuationNotFound,
    )
    from pausemesh.core.errors import (
        DigestMismatch as DigestMismatch,
    )
    from pausemesh.core.errors import (
        EffectConflict as EffectConflict,
    )
    from pausemesh.core.errors import (
        EffectFailed as EffectFailed,
    )
    from pausemesh.core.errors import (
        EffectUnknown as EffectUnknown,
    )
    from pausemesh.core.errors import (
        Forbidden as Forbidden,
    )
    from pausemesh.core.errors import (
        ForkedMesh as ForkedMesh,
    )
    from pausemesh.core.errors import (
        IdempotencyConflict as IdempotencyConflict,
    )
    from pausemesh.core.errors import (
        IdempotencyKeyInvalid as IdempotencyKeyInvalid,
    )
    from pausemesh.core.errors import (
        IdempotencyKeyRequired as IdempotencyKeyRequired,
    )
    from pausemesh.core.errors import (
        InvalidCursor as InvalidCursor,
    )
    from pausemesh.core.errors import (
        InvalidJson as InvalidJson,
    )
    from pausemesh.core.errors import (
        InvalidRequest as InvalidRequest,
    )
    from pausemesh.core.errors import (
        InvalidTransition as InvalidTransition,
    )
    from pausemesh.core.errors import (
        LeaseLost as LeaseLost,
    )
    from pausemesh.core.errors import (
        NotFound as NotFound,
    )
    from pausemesh.core.errors import (
        OutcomeUnknown as OutcomeUnknown,
    )
    from pausemesh.core.errors import (
        Overloaded as Overloaded,
    )
    from pausemesh.core.errors import (
        Owned as Owned,
    )
    from pausemesh.core.errors import (
        OwnedByTask as OwnedByTask,
    )
    from pausemesh.core.errors import (
        PauseMeshError as PauseMeshError,
    )
    from pausemesh.core.errors import (
        PayloadTooLarge as PayloadTooLarge,
    )
    from pausemesh.core.errors import (
        SchemaChanged as SchemaChanged,
    )
    from pausemesh.core.errors import (
        SchemaError as SchemaError,
    )
    from pausemesh.core.errors import (
        SchemaIncomplete as SchemaIncomplete,
    )
    from pausemesh.core.errors import (
        SchemaMissing as SchemaMissing,
    )
    from pausemesh.core.errors import (
        SchemaNewer as SchemaNewer,
    )
    from pausemesh.core.errors import (
        SchemaNotAllowed as SchemaNotAllowed,
    )
    from pausemesh.core.errors import (
        StoreClosed as StoreClosed,
    )
    from pausemesh.core.errors import (
        StoreCorrupt as StoreCorrupt,
    )
    from pausemesh.core.errors import (
        StoreError as StoreError,
    )
    from pausemesh.core.errors import (
        StoreFull as StoreFull,
    )
    from pausemesh.core.errors import (
        StoreUnavailable as StoreUnavailable,
    )
    from pausemesh.core.errors import (
        StoreUnsafe as StoreUnsafe,
    )
    from pausemesh.core.errors import (
        StreamTooLong as StreamTooLong,
    )
    from pausemesh.core.errors import (
        TokenAlreadyUsed as TokenAlreadyUsed,
    )
    from pausemesh.core.errors import (
        TokenMismatch as TokenMismatch,
    )
    from pausemesh.core.errors import (
        UnknownSchemaVersion as UnknownSchemaVersion,
    )
    from pausemesh.core.errors import (
        VersionConflict as VersionConflict,
    )
    from pausemesh.core.errors import (
        WaitTimeout as WaitTimeout,
    )
    from pausemesh.core.issue import (
        Issue as Issue,
    )
    from pausemesh.core.issue import (
        RecordedOutcome as RecordedOutcome,
    )
    from pausemesh.core.limits import JsonLimits as JsonLimits
    from pausemesh.core.policy import Policy as Policy
    from pausemesh.core.principal import (
        Actor as Actor,
    )
    from pausemesh.core.principal import (
        ActorKind as ActorKind,
    )
    from pausemesh.core.principal import (
        Principal as Principal,
    )
    from pausemesh.core.principal import (
        Role as Role,
    )
    from pausemesh.opening import (
        open as open,
    )
    from pausemesh.opening import (
        open_sync as open_sync,
    )
    from pausemesh.ports import EventStore as EventStore
    from pausemesh.ports import Observation as Observation
    from pausemesh.ports import Observer as Observer
    from pausemesh.service.asking import CreatedContinuation as CreatedContinuation
    from pausemesh.service.blocking import (
        BlockingMesh as BlockingMesh,
    )
    from pausemesh.service.blocking import (
        BlockingTurn as BlockingTurn,
    )
    from pausemesh.service.continuation_service import ContinuationService as ContinuationService
    from pausemesh.service.deciding import Outcome as Outcome
    from pausemesh.service.findings import Finding as Finding
    from pausemesh.service.findings import Flaw as Flaw
    from pausemesh.service.findings import RebuildReport as RebuildReport
    from pausemesh.service.findings import VerifyReport as VerifyReport
    from pausemesh.service.keys import CreatedKey as CreatedKey
    from pausemesh.service.mesh import Mesh as Mesh
    from pausemesh.service.reads import Page as Page
    from pausemesh.service.turn import Turn as Turn
    from pausemesh.stores.memory import MemoryEventStore as MemoryEventStore
    from pausemesh.stores.sqlite import SqliteEventStore as SqliteEventStore

    Cancelled = ContinuationCancelled
    Expired = ContinuationExpired

__version__ = "0.1.0"

_HOMES = {
    "SystemClock": "pausemesh.adapters.clock",
    "TimeOrderedIds": "pausemesh.adapters.ids",
    "JsonSchemaValidator": "pausemesh.adapters.json_schema",
    "NoopObserver": "pausemesh.adapters.observer",
    "Sha256TokenIssuer": "pausemesh.adapters.tokens",
    "ApiKey": "pausemesh.core.api_key",
    "Effect": "pausemesh.core.effect",
    "EffectStatus": "pausemesh.core.effect",
    "AnswerableBy": "pausemesh.core.envelope",
    "ClaimStatus": "pausemesh.core.envelope",
    "ClaimView": "pausemesh.core.envelope",
    "Continuation": "pausemesh.core.envelope",
    "Status": "pausemesh.core.envelope",
    "continuation_to_json": "pausemesh.core.envelope",
    "ActionMismatch": "pausemesh.core.errors",
    "AnswerInvalid": "pausemesh.core.errors",
    "AnswerMismatch": "pausemesh.core.errors",
    "ApiKeyNotFound": "pausemesh.core.errors",
    "ClaimDone": "pausemesh.core.errors",
    "ClaimHeld": "pausemesh.core.errors",
    "ClaimNotFound": "pausemesh.core.errors",
    "Conflict": "pausemesh.core.errors",
    "ContinuationCancelled": "pausemesh.core.errors",
    "ContinuationExists": "pausemesh.core.errors",
    "ContinuationExpired": "pausemesh.core.errors",
    "ContinuationNotFound": "pausemesh.core.errors",
    "DigestMismatch": "pausemesh.core.errors",
    "EffectConflict": "pausemesh.core.errors",
    "EffectFailed": "pausemesh.core.errors",
    "EffectUnknown": "pausemesh.core.errors",
    "Forbidden": "pausemesh.core.errors",
    "ForkedMesh": "pausemesh.core.errors",
    "IdempotencyConflict": "pausemesh.core.errors",
    "IdempotencyKeyInvalid": "pausemesh.core.errors",
    "IdempotencyKeyRequired": "pausemesh.core.errors",
    "InvalidCursor": "pausemesh.core.errors",
    "InvalidJson": "pausemesh.core.errors",
    "InvalidRequest": "pausemesh.core.errors",
    "InvalidTransition": "pausemesh.core.errors",
    "LeaseLost": "pausemesh.core.errors",
    "NotFound": "pausemesh.core.errors",
    "OutcomeUnknown": "pausemesh.core.errors",
    "Overloaded": "pausemesh.core.errors",
    "Owned": "pausemesh.core.errors",
    "OwnedByTask": "pausemesh.core.errors",
    "PauseMeshError": "pausemesh.core.errors",
    "PayloadTooLarge": "pausemesh.core.errors",
    "SchemaChanged": "pausemesh.core.errors",
    "SchemaError": "pausemesh.core.errors",
    "SchemaIncomplete": "pausemesh.core.errors",
    "SchemaMissing": "pausemesh.core.errors",
    "SchemaNewer": "pausemesh.core.errors",
    "SchemaNotAllowed": "pausemesh.core.errors",
    "StoreClosed": "pausemesh.core.errors",
    "StoreCorrupt": "pausemesh.core.errors",
    "StoreError": "pausemesh.core.errors",
    "StoreFull": "pausemesh.core.errors",
    "StoreUnavailable": "pausemesh.core.errors",
    "StoreUnsafe": "pausemesh.core.errors",
    "StreamTooLong": "pausemesh.core.errors",
    "TokenAlreadyUsed": "pausemesh.core.errors",
    "TokenMismatch": "pausemesh.core.errors",
    "UnknownSchemaVersion": "pausemesh.core.errors",
    "VersionConflict": "pausemesh.core.errors",
    "WaitTimeout": "pausemesh.core.errors",
    "Issue": "pausemesh.core.issue",
    "RecordedOutcome": "pausemesh.core.issue",
    "JsonLimits": "pausemesh.core.limits",
    "Policy": "pausemesh.core.policy",
    "Actor": "pausemesh.core.principal",
    "ActorKind": "pausemesh.core.principal",
    "Principal": "pausemesh.core.principal",
    "Role": "pausemesh.core.principal",
    "open": "pausemesh.opening",
    "open_sync": "pausemesh.opening",
    "EventStore": "pausemesh.ports",
    "Observation": "pausemesh.ports",
    "Observer": "pausemesh.ports",
    "CreatedContinuation": "pausemesh.service.asking",
    "BlockingMesh": "pausemesh.service.blocking",
    "BlockingTurn": "pausemesh.service.blocking",
    "ContinuationService": "pausemesh.service.continuation_service",
    "Outcome": "pausemesh.service.deciding",
    "Finding": "pausemesh.service.findings",
    "Flaw": "pausemesh.service.findings",
    "RebuildReport": "pausemesh.service.findings",
    "VerifyReport": "pausemesh.service.findings",
    "CreatedKey": "pausemesh.service.keys",
    "Mesh": "pausemesh.service.mesh",
    "Page": "pausemesh.service.reads",
    "Turn": "pausemesh.service.turn",
    "MemoryEventStore": "pausemesh.stores.memory",
    "SqliteEventStore": "pausemesh.stores.sqlite",
}
_OTHER_NAMES = {"Cancelled": "ContinuationCancelled", "Expired": "ContinuationExpired"}

__all__ = [*sorted([*_HOMES, *_OTHER_NAMES]), "__version__"]  # noqa: PLE0604 - all of them are text


def __getattr__(name: str) -> Any:
    """Load a public name from its home (PEP 562)."""
    original = _OTHER_NAMES.get(name, name)
    if original not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_HOMES[original]), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return what is public."""
    return __all__
