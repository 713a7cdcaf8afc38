"""Reading: one question, its history, and pages of them; a read may record an expiry whose time has passed."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final

from pausemesh.core import limits
from pausemesh.core.claim import claim_view
from pausemesh.core.continuation import State, is_overdue
from pausemesh.core.continuation_events import Event
from pausemesh.core.cursor import read_cursor, write_cursor
from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import ContinuationNotFound, InvalidCursor, StoreCorrupt
from pausemesh.core.question import QuestionKind
from pausemesh.core.stored_event import Stamped
from pausemesh.core.values import JsonValue, time_to_text
from pausemesh.records import Stream
from pausemesh.service.cache import StateCache
from pausemesh.service.deciding import Deciding
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.service.requests import continuation_id_of, page_limit_of
from pausemesh.service.transact import Transactor
from pausemesh.service.world import World

_LOOKED_AT_PER_ROW: Final = 100
"""How many questions a page may look at for each that it has room for; one of a rare kind may so be short."""

Position = JsonValue


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Continuations, oldest first; ``next_cursor`` goes on after them, None: that was all."""

    continuations: tuple[Continuation, ...]
    next_cursor: str | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which continuations a list is about; None does not filter."""

    status: Status | None = None
    correlation_id: str | None = None
    kind: QuestionKind | None = None
    due_before: datetime | None = None
    created_by: str | None = None

    def admit(self, continuation: Continuation) -> bool:
        """Tell whether a continuation is one of them."""
        due = continuation.expires_at
        return (
            self.status in {None, continuation.status}
            and self.correlation_id in {None, continuation.correlation_id}
            and self.created_by in {None, continuation.created_by}
            and (self.kind is None or self.kind is continuation.question.kind)
            and (self.due_before is None or (due is not None and due < self.due_before))
        )

    def as_json(self, scope: str) -> JsonValue:
        """Return what a cursor is bound to."""
        due = None if self.due_before is None else time_to_text(self.due_before)
        status = None if self.status is None else self.status.value
        kind = None if self.kind is None else self.kind.value
        return [scope, status, self.correlation_id, kind, due, self.created_by]


class Reads:
    """Looks at continuations without deciding anything about them."""

    def __init__(self, world: World, transactor: Transactor, cache: StateCache, deciding: Deciding) -> None:
        self._world = world
        self._transactor = transactor
        self._cache = cache
        self._deciding = deciding

    async def inspect(self, continuation_id: str) -> Continuation:
        """Return a continuation as it is now, with its claim where it is decided."""
        stream = await self._stream(continuation_id)
        return await self._current(stream)

    async def history(self, continuation_id: str) -> tuple[Stamped[Event], ...]:
        """Return the events of a continuation, oldest first."""
        await self.inspect(continuation_id)
        return self._transactor.stamped(CONTINUATIONS, await self._stream(continuation_id))

    async def page(self, filters: Filters, *, limit: int, cursor: str | None) -> Page:
        """Return the continuations that the filters admit, a page of them."""
        wanted = page_limit_of(limit)
        listing = filters.as_json(self._world.scope)
        keys = self._world.policy.cursor_keys
        position = None if cursor is None else read_cursor(keys, listing, cursor)
        found: list[Continuation] = []
        looked_at, most = 0, _LOOKED_AT_PER_ROW * (wanted + 1)
        async for place, streams in self._windows(filters, position, wanted + 1):
            for at, stream in zip(place, streams, strict=True):
                if len(found) == wanted:
                    return Page(continuations=tuple(found), next_cursor=write_cursor(keys, listing, position))
                continuation = await self._readable(stream)
                if continuation is not None and filters.admit(continuation):
                    found.append(continuation)
                position = at
            looked_at += len(streams)
            if looked_at >= most:
                return Page(continuations=tuple(found), next_cursor=write_cursor(keys, listing, position))
        return Page(continuations=tuple(found), next_cursor=None)

    async def _stream(self, continuation_id: str) -> Stream:
        name = CONTINUATIONS.stream_of(continuation_id_of(continuation_id))
        stream = await self._world.store.load(self._world.scope, name)
        if stream is None:
            raise ContinuationNotFound
        return stream

    async def _readable(self, stream: Stream | None) -> Continuation | None:
        """Return a continuation of a list; one that is gone or cannot be read hides no other, and is observed."""
        if stream is None:
            self._world.observe("rejection", CONTINUATIONS.name, None, code=StoreCorrupt.code)
            return None
        try:
            return await self._current(stream)
        except StoreCorrupt as error:
            self._world.observe("rejection", CONTINUATIONS.name, CONTINUATIONS.id_of(stream.stream), code=error.code)
            return None

    async def _current(self, stream: Stream) -> Continuation:
        state: State = self._transactor.replay(CONTINUATIONS, stream)
        now = self._world.clock.now()
        if is_overdue(state.continuation, now):
            outcome = await self._deciding.expire(state.continuation.id)
            return with_claim(outcome.continuation, stream, now)
        self._cache.put(self._world.scope, state)
        return with_claim(state.continuation, stream, now)

    def _windows(
        self, filters: Filters, position: Position, size: int
    ) -> AsyncIterator[tuple[Sequence[Position], Sequence[Stream | None]]]:
        if filters.correlation_id is not None:
            return self._by_correlation(filters.correlation_id, position, size)
        if filters.status is Status.PENDING:
            return self._pending(position, size)
        return self._by_creation(position, size)

    async def _by_correlation(
        self, correlation: str, position: Position, size: int
    ) -> AsyncIterator[tuple[Sequence[Position], Sequence[Stream | None]]]:
        prefix = CONTINUATIONS.stream_of("")
        after = prefix if position is None else _text(position)
        while True:
            heads = await self._world.store.list_by_correlation(self._world.scope, correlation, after, size)
            names = [head.stream for head in heads if head.stream.startswith(prefix)]
            if names:
                yield list(names), await self._load(names)
            if len(names) < size:
                return
            after = names[-1]

    async def _pending(
        self, position: Position, size: int
    ) -> AsyncIterator[tuple[Sequence[Position], Sequence[Stream | None]]]:
        after = None if position is None else _time_and_text(position)
        while True:
            heads = await self._world.store.list_by_status(
                self._world.scope, CONTINUATIONS.name, Status.PENDING.value, after, size
            )
            if heads:
                places: list[Position] = [[head.created_at.isoformat(), head.stream] for head in heads]
                yield places, await self._load([head.stream for head in heads])
            if len(heads) < size:
                return
            after = (heads[-1].created_at, heads[-1].stream)

    async def _by_creation(
        self, position: Position, size: int
    ) -> AsyncIterator[tuple[Sequence[Position], Sequence[Stream | None]]]:
        after = 0 if position is None else _whole_number(position)
        window = size
        while True:
            events = await self._world.store.feed(after, self._world.scope, window)
            created = [event for event in events if event.type == _CREATED_TYPE]
            if created:
                places: list[Position] = [event.seq for event in created]
                yield places, await self._load([event.stream for event in created])
            if len(events) < window:
                return
            after = events[-1].seq
            window = min(window * 2, limits.FEED_MAX)

    async def _load(self, names: Sequence[str]) -> Sequence[Stream | None]:
        return await self._world.store.load_many([(self._world.scope, name) for name in names])


def with_claim(continuation: Continuation, stream: Stream, now: datetime) -> Continuation:
    """Return a decided continuation with what its head says about the claim."""
    if continuation.status is Status.PENDING:
        return continuation
    columns = stream.claim
    claim = claim_view(
        holder=columns.holder,
        fence=columns.fence,
        lease_until=columns.lease_until,
        done_at=columns.done_at,
        now=now,
    )
    return dataclasses.replace(continuation, claim=claim)


def _text(position: JsonValue) -> str:
    if not isinstance(position, str):
        raise InvalidCursor
    return position


def _whole_number(position: JsonValue) -> int:
    if type(position) is not int:
        raise InvalidCursor
    return position


def _time_and_text(position: JsonValue) -> tuple[datetime, str]:
    match position:
        case [str(at), str(stream)]:
            with contextlib.suppress(ValueError):
                return datetime.fromisoformat(at), stream
        case _:
            pass
    raise InvalidCursor


_CREATED_TYPE: Final = "continuation.created"
