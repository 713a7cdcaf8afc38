"""What a store holds, read row by row and past the store, and whether it is whole."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from pausemesh.core.claim import Claim
from pausemesh.core.continuation import State
from pausemesh.core.continuation_events import Cancelled, Resumed
from pausemesh.core.effect import Effect
from pausemesh.core.envelope import Status
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.principal import BY_TOKEN, Actor
from pausemesh.core.stored_event import Stamped, read_stored_event
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS, Noun, continuation_head

StateT = TypeVar("StateT")
EventT = TypeVar("EventT")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class HeadRow(NamedTuple):
    """A row of heads, as far as it is looked at."""

    scope: str
    stream: str
    version: int
    kind: str
    status: str
    open: int
    correlation: str
    queue: str | None
    token_hash: bytes | None
    due_at: int | None
    holder: str | None
    fence: int
    lease_until: int | None
    done_at: int | None


class EventRow(NamedTuple):
    """A row of events."""

    seq: int
    scope: str
    stream: str
    version: int
    id: bytes
    type: str
    at: int
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class StoredStream:
    """A stream as its rows say."""

    head: HeadRow | None
    events: tuple[EventRow, ...]

    def stamped(self, noun: Noun[StateT, EventT]) -> tuple[Stamped[EventT], ...]:
        """Return its events, read."""
        return tuple(_stamped(noun, row) for row in self.events)

    def state(self, noun: Noun[StateT, EventT]) -> StateT:
        """Return what replaying its events gives."""
        return noun.replay(self.stamped(noun))


class Stored:
    """All that a store holds.

    Args:
        heads: every row of them.
        events: every row, those of a stream by their versions.
        audited: how many rows each noun has, by (scope, id).
        integrity: what the database finds of itself; ok where that is nothing.

    Attributes:
        streams: by (scope, name).
    """

    def __init__(
        self,
        heads: Iterable[HeadRow],
        events: Iterable[EventRow],
        audited: Mapping[tuple[str, str], int],
        *,
        integrity: str,
    ) -> None:
        self.integrity = integrity
        self.audited = audited
        self.streams = _streams(heads, events)

    def find(self, noun: Noun[StateT, EventT], noun_id: str, scope: str = "default") -> StoredStream | None:
        """Return the stream of a noun."""
        return self.streams.get((scope, noun.stream_of(noun_id)))

    def state(self, noun: Noun[StateT, EventT], noun_id: str, scope: str = "default") -> StateT | None:
        """Return the state of a noun, None where it has no stream."""
        found = self.find(noun, noun_id, scope)
        return None if found is None else found.state(noun)

    def of(self, noun: Noun[StateT, EventT]) -> Iterator[tuple[str, str, StoredStream]]:
        """Yield scope, id and stream of each noun of a kind."""
        prefix = noun.stream_of("")
        for (scope, name), stream in self.streams.items():
            if name.startswith(prefix):
                yield scope, noun.id_of(name), stream

    def flaws(self) -> list[str]:
        """Return all that is not whole: integrity, versions, states, heads, and rows that go together."""
        found = [] if self.integrity == "ok" else [f"integrity check: {self.integrity}"]
        for (scope, name), stream in self.streams.items():
            try:
                found += [f"{scope} {name}: {flaw}" for flaw in self._flaws_of(scope, name, stream)]
            except PauseMeshError as error:
                found.append(f"{scope} {name}: {error.code} {error}")
        return found

    def _flaws_of(self, scope: str, name: str, stream: StoredStream) -> Iterator[str]:
        versions = [row.version for row in stream.events]
        if stream.head is None or versions != list(range(1, stream.head.version + 1)):
            yield f"versions {versions} under the head {stream.head}"
            return
        if [row.seq for row in stream.events] != sorted({row.seq for row in stream.events}):
            yield "its events do not follow each other in the log"
        kind = stream.head.kind
        if kind == CONTINUATIONS.name:
            yield from self._flaws_of_continuation(scope, stream.state(CONTINUATIONS), stream, stream.head)
        elif kind == CLAIMS.name:
            yield from self._flaws_of_claim(scope, name, stream.state(CLAIMS))
        elif kind == EFFECTS.name:
            yield from _flaws_of_effect(stream.state(EFFECTS), stream.head)

    def _flaws_of_continuation(self, scope: str, state: State, stream: StoredStream, head: HeadRow) -> Iterator[str]:
        expected = continuation_head(state)
        due = None if expected.due_at is None else to_micros(expected.due_at)
        wanted = (expected.status, int(expected.open), expected.correlation, expected.queue, expected.token_hash, due)
        if wanted != (head.status, head.open, head.correlation, head.queue, head.token_hash, head.due_at):
            yield f"replaying gives another head than {head}"
        if state.continuation.status is not Status.PENDING and _is_late(state):
            yield "it was decided at or after its deadline"
        deciders = [*_deciders(stamped.event for stamped in stream.stamped(CONTINUATIONS))]
        by_known = sum(decider.id is not None for decider in deciders)
        by_token = deciders.count(BY_TOKEN)  # somebody known may have brought it
        if not by_known <= self.audited.get((scope, state.continuation.id), 0) <= by_known + by_token:
            yield f"{by_known} decisions by somebody known, {by_token} by token, and other audit rows"
        finished = self.find(CLAIMS, state.continuation.id, scope)
        if (finished is None) is not (head.done_at is None):
            yield "its claim is done by its head or by its event, but not by both"

    def _flaws_of_claim(self, scope: str, name: str, state: Claim) -> Iterator[str]:
        noun_id = CLAIMS.id_of(name)
        claimed = self.find(CONTINUATIONS, noun_id, scope)
        if claimed is None or claimed.head is None:
            yield "nothing was claimed"
        elif (state.end.fence, state.end.worker) != (claimed.head.fence, claimed.head.holder):
            yield f"finished by {state.end.worker} under {state.end.fence}, but held by {claimed.head}"


def effect_id(noun_id: str, key: str) -> str:
    """Return an effect's id in the log, where its question approves no action."""
    return f"{noun_id}/{key}"


def to_micros(value: datetime) -> int:
    """Return the microseconds since 1970."""
    return (value - _EPOCH) // timedelta(microseconds=1)


def from_micros(value: int) -> datetime:
    """Return the time of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=value)


def _streams(heads: Iterable[HeadRow], events: Iterable[EventRow]) -> dict[tuple[str, str], StoredStream]:
    by_stream: dict[tuple[str, str], list[EventRow]] = {}
    for row in events:
        by_stream.setdefault((row.scope, row.stream), []).append(row)
    head_of = {(head.scope, head.stream): head for head in heads}
    return {
        place: StoredStream(head_of.get(place), tuple(by_stream.get(place, ())))
        for place in [*head_of, *(place for place in by_stream if place not in head_of)]
    }


def _stamped(noun: Noun[StateT, EventT], row: EventRow) -> Stamped[EventT]:
    noun_id = noun.id_of(row.stream)
    event = noun.read_event(row.type, noun_id, read_stored_event(row.data, noun_id, row.version))
    return Stamped(event=event, version=row.version, at=from_micros(row.at), id=UUID(bytes=row.id))


def _is_late(state: State) -> bool:
    """Tell whether it was resumed or cancelled too late, or expired too early."""
    envelope = state.continuation
    if envelope.expires_at is None or envelope.decided_at is None:
        return False
    return (envelope.decided_at >= envelope.expires_at) is not (envelope.status is Status.EXPIRED)


def _deciders(events: Iterable[object]) -> Iterator[Actor]:
    yield from (event.by for event in events if isinstance(event, Resumed | Cancelled))


def _flaws_of_effect(state: Effect, head: HeadRow) -> Iterator[str]:
    unsettled = state.status.value in {"started", "unknown"}
    if (state.status.value, unsettled) != (head.status, bool(head.open)):
        yield f"replaying gives another head than {head}"
