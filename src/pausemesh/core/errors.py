"""Every error of PauseMesh: a type with a stable ``code``; its docstring is its message.

::

    PauseMeshError
    ├── InvalidRequest                 INVALID_REQUEST        the caller's words are off
    │   ├── InvalidJson                INVALID_JSON
    │   ├── IdempotencyKeyRequired     IDEMPOTENCY_KEY_REQUIRED
    │   ├── IdempotencyKeyInvalid      IDEMPOTENCY_KEY_INVALID
    │   ├── InvalidCursor              INVALID_CURSOR
    │   └── PayloadTooLarge            PAYLOAD_TOO_LARGE
    ├── TokenMismatch                  TOKEN_MISMATCH
    ├── Forbidden                      FORBIDDEN
    ├── NotFound                       NOT_FOUND
    │   ├── ContinuationNotFound       CONTINUATION_NOT_FOUND
    │   ├── ClaimNotFound              CLAIM_NOT_FOUND
    │   └── ApiKeyNotFound             NOT_FOUND
    ├── Conflict                                              somebody or something was first
    │   ├── TokenAlreadyUsed           TOKEN_ALREADY_USED
    │   ├── ContinuationCancelled      CONTINUATION_CANCELLED
    │   ├── InvalidTransition          INVALID_TRANSITION
    │   │   └── ClaimDone              INVALID_TRANSITION
    │   ├── VersionConflict            VERSION_CONFLICT
    │   ├── ContinuationExists         CONTINUATION_EXISTS
    │   ├── Owned                      OWNED
    │   │   └── OwnedByTask            OWNED_BY_TASK
    │   ├── DigestMismatch             DIGEST_MISMATCH
    │   ├── ActionMismatch             ACTION_MISMATCH
    │   ├── ClaimHeld                  CLAIM_HELD
    │   ├── LeaseLost                  LEASE_LOST
    │   ├── EffectUnknown              EFFECT_UNKNOWN
    │   └── EffectConflict             EFFECT_CONFLICT
    ├── ContinuationExpired            CONTINUATION_EXPIRED
    ├── IdempotencyConflict            IDEMPOTENCY_CONFLICT
    ├── AnswerInvalid                  ANSWER_INVALID
    ├── AnswerMismatch                 ANSWER_MISMATCH        the answer is recorded and stays
    ├── SchemaNotAllowed               SCHEMA_NOT_ALLOWED
    ├── EffectFailed                   EFFECT_FAILED          raised by an effect: it surely did not happen
    ├── WaitTimeout                    WAIT_TIMEOUT
    ├── StoreError                                            the store could not do it
    │   ├── StoreUnavailable           STORE_UNAVAILABLE      surely not written
    │   │   └── Overloaded             OVERLOADED
    │   ├── StoreClosed                STORE_UNAVAILABLE      what was under way may be recorded
    │   ├── OutcomeUnknown             OUTCOME_UNKNOWN        send the very same request again
    │   ├── StoreFull                  STORE_FULL
    │   ├── StreamTooLong              STREAM_TOO_LONG
    │   ├── StoreCorrupt               STORE_CORRUPT
    │   │   └── UnknownSchemaVersion   UNKNOWN_SCHEMA_VERSION
    │   ├── StoreUnsafe                STORE_UNSAFE           the library or its settings are not durable
    │   └── SchemaError                                       the database's schema is not the expected one
    │       ├── SchemaMissing          SCHEMA_MISSING
    │       ├── SchemaChanged          SCHEMA_CHANGED
    │       ├── SchemaNewer            SCHEMA_NEWER
    │       └── SchemaIncomplete       SCHEMA_INCOMPLETE
    └── ForkedMesh                     FORKED_MESH

No token, payload, answer or state is ever in an error: members hold ids, versions, statuses, JSON Pointers. The one
exception is ``ClaimDone.result``, which is what its catcher asked for; no text of the error shows it.
"""

from datetime import datetime

from pausemesh.core.error_base import PauseMeshError as PauseMeshError  # noqa: PLC0414 - part of this module's tree
from pausemesh.core.issue import RecordedOutcome


class InvalidRequest(PauseMeshError):
    """The request is not well formed."""

    code = "INVALID_REQUEST"


class InvalidJson(InvalidRequest):
    """The document is not JSON that can be kept and compared exactly."""

    code = "INVALID_JSON"


class IdempotencyKeyRequired(InvalidRequest):
    """An idempotency key is required."""

    code = "IDEMPOTENCY_KEY_REQUIRED"


class IdempotencyKeyInvalid(InvalidRequest):
    """The idempotency key must have 1 to 200 characters and no control characters."""

    code = "IDEMPOTENCY_KEY_INVALID"


class InvalidCursor(InvalidRequest):
    """The cursor was not issued by this list."""

    code = "INVALID_CURSOR"


class PayloadTooLarge(InvalidRequest):
    """The document is larger than allowed."""

    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The limit is {limit} bytes.")


class TokenMismatch(PauseMeshError):
    """The resume token is missing, malformed or not the one that was issued."""

    code = "TOKEN_MISMATCH"


class Forbidden(PauseMeshError):
    """The caller's role does not allow this."""

    code = "FORBIDDEN"


class NotFound(PauseMeshError):
    """There is no such thing."""

    code = "NOT_FOUND"


class ContinuationNotFound(NotFound):
    """There is no continuation with this id."""

    code = "CONTINUATION_NOT_FOUND"


class ClaimNotFound(NotFound):
    """There is no claim or effect with this id."""

    code = "CLAIM_NOT_FOUND"


class ApiKeyNotFound(NotFound):
    """There is no API key with this id."""


class Conflict(PauseMeshError):
    """The state of things does not allow this any more."""

    code = "CONFLICT"

    def __init__(self, detail: str | None = None, *, recorded: RecordedOutcome | None = None) -> None:
        self.recorded = recorded
        super().__init__(detail)


class TokenAlreadyUsed(Conflict):
    """The question was answered already."""

    code = "TOKEN_ALREADY_USED"


class ContinuationCancelled(Conflict):
    """The question was cancelled."""

    code = "CONTINUATION_CANCELLED"


class InvalidTransition(Conflict):
    """The present status does not allow this change."""

    code = "INVALID_TRANSITION"


class ClaimDone(InvalidTransition):
    """Somebody went on with this decision already and finished.

    Attributes:
        result: the plain JSON value that was recorded with ``done``; shown by no ``str`` or ``repr``.
    """

    def __init__(self, *, result: object = None, recorded: RecordedOutcome | None = None) -> None:
        self.result = result
        super().__init__(recorded=recorded)


class VersionConflict(Conflict):
    """The expected version is not the actual one."""

    code = "VERSION_CONFLICT"

    def __init__(self, *, expected: int, actual: int, recorded: RecordedOutcome | None = None) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(f"Expected version {expected}, actual version {actual}.", recorded=recorded)


class ContinuationExists(Conflict):
    """A continuation with this id exists already; it is unchanged."""

    code = "CONTINUATION_EXISTS"


class Owned(Conflict):
    """A pause owns this continuation and its own rules decide."""

    code = "OWNED"


class OwnedByTask(Owned):
    """A task owns this continuation and only its requester's reply decides."""

    code = "OWNED_BY_TASK"


class DigestMismatch(Conflict):
    """What was shown is not what is stored."""

    code = "DIGEST_MISMATCH"


class ActionMismatch(Conflict):
    """The action is not what was approved."""

    code = "ACTION_MISMATCH"


class ClaimHeld(Conflict):
    """Another worker holds the claim.

    Attributes:
        lease_until: when the present lease ends if it is not renewed.
        fence: the fence of the present holder.
    """

    code = "CLAIM_HELD"

    def __init__(self, *, lease_until: datetime, fence: int) -> None:
        self.lease_until = lease_until
        self.fence = fence
        super().__init__()


class LeaseLost(Conflict):
    """The lease has lapsed or passed on; nothing was recorded."""

    code = "LEASE_LOST"


class EffectUnknown(Conflict):
    """The effect was started and its outcome is not known; resolve it with evidence."""

    code = "EFFECT_UNKNOWN"


class EffectConflict(Conflict):
    """The effect's key was used with another kind or other arguments."""

    code = "EFFECT_CONFLICT"


class ContinuationExpired(PauseMeshError):
    """The question expired before an answer was accepted."""

    code = "CONTINUATION_EXPIRED"

    def __init__(self, *, expires_at: datetime | None, recorded: RecordedOutcome | None = None) -> None:
        self.expires_at = expires_at
        self.recorded = recorded
        super().__init__()


class IdempotencyConflict(PauseMeshError):
    """The idempotency key was used with another request."""

    code = "IDEMPOTENCY_CONFLICT"


class AnswerInvalid(PauseMeshError):
    """The answer does not match the question's response schema; the question stays open."""

    code = "ANSWER_INVALID"


class AnswerMismatch(PauseMeshError):
    """The recorded answer cannot be made the type that was asked for."""

    code = "ANSWER_MISMATCH"


class SchemaNotAllowed(PauseMeshError):
    """The response schema is not one that can be checked safely."""

    code = "SCHEMA_NOT_ALLOWED"


class EffectFailed(PauseMeshError):
    """The effect surely did not happen; it may be tried again."""

    code = "EFFECT_FAILED"


class WaitTimeout(PauseMeshError):
    """Nothing came within the time given."""

    code = "WAIT_TIMEOUT"


class StoreError(PauseMeshError):
    """The store could not do this."""

    code = "STORE_ERROR"


class StoreUnavailable(StoreError):
    """The store cannot be reached; nothing was written."""

    code = "STORE_UNAVAILABLE"


class Overloaded(StoreUnavailable):
    """Too many calls are waiting; nothing was written."""

    code = "OVERLOADED"


class StoreClosed(StoreError):
    """The mesh or its store was closed."""

    code = "STORE_UNAVAILABLE"


class OutcomeUnknown(StoreError):
    """The commit's outcome is not known; the same request with the same key settles it."""

    code = "OUTCOME_UNKNOWN"


class StoreFull(StoreError):
    """The store is out of space; nothing was written."""

    code = "STORE_FULL"


class StreamTooLong(StoreError):
    """The stream holds as many events as it may."""

    code = "STREAM_TOO_LONG"

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The limit is {limit} events.")


class StoreCorrupt(StoreError):
    """Stored events contradict each other or cannot be read."""

    code = "STORE_CORRUPT"


class UnknownSchemaVersion(StoreCorrupt):
    """A stored event has a schema version that this release does not know."""

    code = "UNKNOWN_SCHEMA_VERSION"


class StoreUnsafe(StoreError):
    """The database would not keep what it acknowledges."""

    code = "STORE_UNSAFE"


class SchemaError(StoreError):
    """The database's schema is not the one this release needs."""

    code = "SCHEMA_ERROR"


class SchemaMissing(SchemaError):
    """The database holds no PauseMesh schema."""

    code = "SCHEMA_MISSING"


class SchemaChanged(SchemaError):
    """A migration that was applied differs from the one this release carries."""

    code = "SCHEMA_CHANGED"


class SchemaNewer(SchemaError):
    """The database was migrated by a newer release."""

    code = "SCHEMA_NEWER"


class SchemaIncomplete(SchemaError):
    """An object of the database's schema is missing or altered."""

    code = "SCHEMA_INCOMPLETE"


class ForkedMesh(PauseMeshError):
    """A mesh was open when this process was forked; start it with spawn or forkserver, or fork before opening."""

    code = "FORKED_MESH"
