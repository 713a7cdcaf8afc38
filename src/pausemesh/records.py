"""What is written to a store and read from it, and on which conditions: the vocabulary of the EventStore port."""

import dataclasses
import enum
from datetime import datetime
from uuid import UUID


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
class Examined:
    """All that is stored under a stream's name, whether its parts fit each other or not.

    ``head`` has no events; None: it is missing or unreadable. ``events`` are by version, at most
    ``limits.EXAMINED_EVENTS``. ``unreadable`` counts the rows that hold what they cannot hold, and are left out.
    """

    scope: str
    stream: str
    head: Stream | None
    events: tuple[Recorded, ...]
    unreadable: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """A head, without events, that takes the place of one that was ``seen``; None: there is none."""

    seen: Stream | None
    head: Stream


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
