"""All that PauseMesh needs from the world, on one page."""

import dataclasses
import enum
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonValue


class Due(enum.Enum):
    """What a write needs of its stream's deadline, judged by the store's clock in the step that writes."""

    ANY = enum.auto()
    AHEAD = enum.auto()
    PASSED = enum.auto()


class Reason(enum.Enum):
    """Why a write was refused; where several hold, the first in this order is told."""

    TOKEN = enum.auto()
    VERSION = enum.auto()
    DUE_PASSED = enum.auto()
    DUE_AHEAD = enum.auto()
    FENCE = enum.auto()
    NOT_SILENT = enum.auto()
    SIBLING = enum.auto()


class CrashPoint(enum.StrEnum):
    """Where a process may die in a test; see ``pausemesh.testing.faults``."""

    BEFORE_BEGIN = "before_begin"
    BEFORE_APPEND = "before_append"
    AFTER_APPEND_BEFORE_COMMIT = "after_append_before_commit"
    AFTER_COMMIT_BEFORE_REPLY = "after_commit_before_reply"
    MID_MIGRATION = "mid_migration"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to be stored: a time-ordered id, a type, and the canonical bytes of its content."""

    id: UUID
    type: str
    data: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A stored event: its version in the stream, from 1; its seq in the store, in commit order and with gaps; its time.

    ``at`` is the store's clock (UTC) in the step that wrote it.
    """

    scope: str
    stream: str
    version: int
    id: UUID
    type: str
    at: datetime
    seq: int
    data: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What can be looked up about a stream without its events; written whole with each write.

    ``kind`` and ``correlation`` never change. ``open`` puts the stream on the list of open ones of its kind,
    ``due_at`` (whole milliseconds) on the due list, ``queue`` on that queue's list once it is not open any more.
    """

    kind: str
    status: str
    open: bool
    correlation: str
    owner: str | None = None
    trace: str | None = None
    queue: str | None = None
    token_hash: bytes | None = dataclasses.field(default=None, repr=False)
    due_at: datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClaimColumns:
    """The mutable columns of a head: who goes on with it, until when, under which fence (0: never claimed)."""

    holder: str | None = None
    fence: int = 0
    lease_until: datetime | None = None
    done_at: datetime | None = None
    attempts: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A row of the append-only audit log: ids and content digests, never a value; the store stamps it with its time."""

    id: UUID
    action: str
    noun: str
    noun_id: str
    correlation: str
    actor: str
    digest: str | None = None
    note: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAudit:
    """An audit row as it was stored."""

    scope: str
    at: datetime
    row: AuditRow


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One stream's part of an append.

    Attributes:
        expected_version: the version the stream must have; 0: it must not exist.
        head: the new head; needed where there are events.
        events: what to store; none: the conditions are only compared, without ``head`` and ``rows``.
        token_hash: what the head's token hash must be.
        due: what must be true of the head's ``due_at``; a deadline that is reached has passed.
        fence: the fence of the claim on the head, which must be held under a live lease and not be done.
        finish: together with ``fence``, with or without events: the claim is done from now on.
        silent_since: the stream's last beat, or its creation where it never beat, must be before this time.
        rows: rows of read models that are written with the events.
        history: give the stream with all its events back, whether the write won or lost.
    """

    scope: str
    stream: str
    expected_version: int
    head: Head | None = None
    events: tuple[NewEvent, ...] = ()
    token_hash: bytes | None = dataclasses.field(default=None, repr=False)
    due: Due = Due.ANY
    fence: int | None = None
    finish: bool = False
    silent_since: datetime | None = None
    rows: tuple[AuditRow, ...] = ()
    history: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as it is stored: its head, its claim, and its events where they were asked for."""

    scope: str
    stream: str
    version: int
    head: Head
    claim: ClaimColumns
    created_at: datetime
    updated_at: datetime
    events: tuple[Recorded, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """All writes of the call are durable.

    ``at`` stamps its events. ``replayed``: this very call was committed before, nothing was written now, and ``at``
    and ``last_seq`` are those of the first time. ``streams`` has one entry a write: the stream where ``history`` was
    asked.
    """

    at: datetime
    last_seq: int
    replayed: bool
    streams: tuple[Stream | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No write of the call was stored; one entry a write in each member; ``at`` is the store's clock.

    A write that was fine in itself has the reason SIBLING. ``actual`` is the stream's version, 0: there is none.
    """

    at: datetime
    reasons: tuple[Reason, ...]
    expected: tuple[int, ...]
    actual: tuple[int, ...]
    streams: tuple[Stream | None, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A claim that is held: ``fence`` grew by one when it was taken, ``until`` is by the store's clock."""

    scope: str
    stream: str
    worker: str
    fence: int
    until: datetime
    attempts: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Somebody else holds the claim at ``at`` (the store's clock) and keeps it until ``until`` if not renewed."""

    at: datetime
    until: datetime
    fence: int


class EventStore(Protocol):
    """Streams of immutable events with compare-and-swap, and heads to find them by.

    Every store passes ``pausemesh.testing.conformance``. All methods may raise StoreUnavailable (surely nothing
    written), ``append`` and the claim methods also OutcomeUnknown (send the very same writes again) and StoreFull,
    and any that reads StoreCorrupt.
    """

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, or none.

        A write whose first event is already stored at ``expected_version + 1`` was committed earlier: the whole
        call succeeds with ``replayed``. At most ``limits.WRITES_PER_CALL`` writes, each stream once.

        Raises:
            InvalidRequest: a write is malformed; nothing was compared.
            StreamTooLong: the stream would hold more events than it may; nothing was written.
        """
        ...

    async def load(self, scope: str, stream: str) -> Stream | None:
        """Return the stream with all its events."""
        ...

    async def load_many(self, refs: Sequence[tuple[str, str]]) -> Sequence[Stream | None]:
        """Return the streams named by (scope, stream), in that order."""
        ...

    async def list_by_correlation(
        self, scope: str, correlation: str, after: str = "", limit: int = 50
    ) -> Sequence[Stream]:
        """Return streams without events, ordered by stream name, those past ``after``."""
        ...

    async def list_by_status(
        self, scope: str, kind: str, status: str, after: tuple[datetime, str] | None = None, limit: int = 50
    ) -> Sequence[Stream]:
        """Return open streams without events, ordered by (created_at, stream), those past ``after``."""
        ...

    async def list_due(self, limit: int = 100) -> Sequence[Stream]:
        """Return streams of all scopes whose deadline has passed by the store's clock, longest overdue first."""
        ...

    async def list_audit(
        self, scope: str, after: tuple[datetime, UUID] | None = None, limit: int = 50
    ) -> Sequence[RecordedAudit]:
        """Return audit rows ordered by (at, id), those past ``after``."""
        ...

    async def feed(self, after_seq: int, scope: str | None = None, limit: int = 1000) -> Sequence[Recorded]:
        """Return events past ``after_seq`` in commit order; what appears later has a greater seq."""
        ...

    async def feed_of_correlation(
        self, scope: str, correlation: str, after_seq: int, limit: int = 1000
    ) -> Sequence[Recorded]:
        """Return the same of the streams of one correlation."""
        ...

    async def last_seq(self) -> int:
        """Return the greatest seq that is committed, 0 where there is none."""
        ...

    def wakeups(self) -> AsyncIterator[int]:
        """Yield the greatest seq, at once and whenever any process made it grow; the newest only; ``close`` ends it."""
        ...

    async def beat(self, scope: str, streams: Sequence[str]) -> None:
        """Set the last beat of the streams to the store's clock."""
        ...

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream that is not open, not done, and not held under a live lease.

        Returns:
            the lease, who holds it, or None where the stream does not exist, is open, or is done.
        """
        ...

    async def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim of the stream of this queue that has been ready longest."""
        ...

    async def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on; None where it has lapsed, passed on, or is done."""
        ...

    async def release(self, held: Lease) -> bool:
        """Give a live lease back; False where it has lapsed, passed on, or is done."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of everything; a second call does nothing."""
        ...


class Clock(Protocol):
    """What time it is."""

    def now(self) -> datetime:
        """Return the present time in UTC, with its zone."""
        ...


class Tokens(Protocol):
    """Issues resume tokens."""

    def issue(self) -> str:
        """Return a token of 256 random bits in the form of ``pausemesh.core.tokens``."""
        ...


class Ids(Protocol):
    """Draws ids."""

    def event_id(self) -> UUID:
        """Return a time-ordered UUID (RFC 9562, version 7)."""
        ...

    def new(self, prefix: str) -> str:
        """Return ``prefix``, an underscore, and 26 characters that sort by time."""
        ...


class CompiledSchema(Protocol):
    """A response schema that is ready to judge answers."""

    def issues(self, answer: JsonValue) -> tuple[Issue, ...]:
        """Return the places where the answer fails; none: it is valid."""
        ...


class SchemaValidator(Protocol):
    """Knows JSON Schema 2020-12."""

    def compile(self, schema: JsonValue) -> CompiledSchema:
        """Prepare a schema.

        Raises:
            SchemaNotAllowed: it cannot be checked safely.
        """
        ...


class Cipher(Protocol):
    """The seam for encryption at rest: ``context`` (scope, stream, version) is authenticated, not kept."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Return what is stored for ``data``."""
        ...

    def unseal(self, sealed: bytes, context: bytes) -> bytes:
        """Return the data again.

        Raises:
            StoreCorrupt: it was changed, or belongs elsewhere.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that happened: ids, a status and a code; never a payload, token or metadata.

    ``name`` is created, transition or rejection; a rejection has a ``code``, the others ``status`` and ``version``.
    """

    name: str
    at: datetime
    noun: str
    noun_id: str | None
    status: str | None = None
    version: int | None = None
    code: str | None = None


class Observer(Protocol):
    """Is told what happened; whatever it raises is dropped."""

    def observe(self, observation: Observation) -> None:
        """Take note; called on the event loop, so it must not block."""
        ...
