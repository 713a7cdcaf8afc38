"""All that PauseMesh needs from the world, on one page."""

import dataclasses
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from pausemesh.core.issue import Issue
from pausemesh.core.tokens import PREFIX
from pausemesh.core.values import JsonValue
from pausemesh.records import (
    Appended,
    Examined,
    Held,
    Lease,
    Recorded,
    RecordedAudit,
    Refused,
    Restoring,
    Stream,
    Write,
)


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

    async def list_names(self, after: tuple[str, str] | None = None, limit: int = 50) -> Sequence[tuple[str, str]]:
        """Return (scope, stream) of all that is stored, be it a head or only events, by these, those past ``after``."""
        ...

    async def examine(self, refs: Sequence[tuple[str, str]]) -> Sequence[Examined]:
        """Return what is stored of the streams named by (scope, stream), in that order, all as of one moment."""
        ...

    async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
        """Write heads anew, claims included, in one commit; each only where what is stored is exactly what was seen.

        Returns:
            one entry a head: False where it is another one by now, or the stream's events do not end at its version.

        Raises:
            InvalidRequest: there are none or more than ``limits.WRITES_PER_CALL``, or one is malformed.
        """
        ...

    async def check_integrity(self, *, quick: bool = False) -> Sequence[str]:
        """Return what is wrong with the medium itself, in words without a value; none: nothing was found.

        It reads everything, and may take minutes; ``quick`` leaves out what takes longest.
        """
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
    """Issues resume tokens and API keys."""

    def issue(self, prefix: str = PREFIX) -> str:
        """Return 256 random bits in the form of ``pausemesh.core.tokens``, behind the prefix of what they are for."""
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


class RateLimiter(Protocol):
    """Counts what callers do; a minute slides, and what was refused counts too."""

    async def take(self, bucket: str, most: int, seconds: float) -> float | None:
        """Count one call of a bucket that admits ``most`` in any span of so many seconds.

        Returns:
            None where it is admitted, else the seconds until the next one can be.
        """
        ...
