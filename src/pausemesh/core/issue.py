"""What an error says beside its code: failing places, and the decision that was first."""

import dataclasses
from datetime import datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Issue:
    """One failing place: a JSON Pointer (RFC 6901), a stable reason, and a sentence about it."""

    path: str
    reason: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOutcome:
    """What was decided, as far as a refused caller may know: never a payload."""

    status: str
    version: int
    decided_at: datetime
