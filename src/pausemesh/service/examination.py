"""Streams with those that they belong to: heads against events, claims and effects against their questions."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from pausemesh.core.claim import Claim
from pausemesh.core.continuation import State
from pausemesh.core.effect import Effect
from pausemesh.core.envelope import Status
from pausemesh.records import Examined, Head
from pausemesh.service.findings import Finding, Flaw
from pausemesh.service.nouns import (
    CLAIMS,
    CONTINUATIONS,
    EFFECTS,
    claim_head,
    continuation_head,
    effect_head,
    key_head,
)
from pausemesh.service.stored_stream import StoredStream, read_stream
from pausemesh.service.transact import Transactor
from pausemesh.service.world import World

Name: TypeAlias = tuple[str, str]
"""A stream's scope and its own name."""

_MEMBERS: Final = tuple(field.name for field in dataclasses.fields(Head))


class Examination:
    """Streams as of one moment, with those that they belong to; each is read when it is first looked at."""

    def __init__(self, transactor: Transactor, examined: Iterable[Examined]) -> None:
        self._transactor = transactor
        self._examined = {(stored.scope, stored.stream): stored for stored in examined}
        self._read: dict[Name, StoredStream] = {}

    def stream(self, name: Name) -> StoredStream:
        """Return a stream that was examined."""
        if name not in self._read:
            self._read[name] = read_stream(self._transactor, self._examined[name])
        return self._read[name]

    def question_of(self, name: Name) -> StoredStream:
        """Return the question to which a claim or an effect belongs."""
        return self.stream((name[0], question_name(name[1])))

    def claim_of(self, name: Name) -> StoredStream:
        """Return the claim of a question."""
        return self.stream((name[0], claim_name(name[1])))

    def findings_of(self, name: Name) -> Iterator[Finding]:
        """Yield all that is wrong with a stream."""
        stream = self.stream(name)
        yield from stream.findings
        if stream.noun is CLAIMS or stream.noun is EFFECTS:
            yield from self._flaws_of_belonging(name, stream)
        yield from self._flaws_of_head(name, stream)
        if stream.noun is CONTINUATIONS and stream.stored.head is not None:
            yield from self._flaws_of_claim_columns(name, stream)

    def head_of(self, name: Name) -> Head | None:
        """Return the head that the events of a stream give; None where they give none."""
        state = self.stream(name).state
        match state:
            case State():
                return continuation_head(state)
            case Claim() | Effect():
                question = self.question_of(name).question
                if question is None:
                    return None
                return claim_head(state, question) if isinstance(state, Claim) else effect_head(state, question)
            case None:
                return None
            case _:
                return key_head(state)

    def _flaws_of_belonging(self, name: Name, stream: StoredStream) -> Iterator[Finding]:
        asked = self.question_of(name)
        if asked.question is None or asked.question.status is not Status.RESUMED:
            yield stream.finding(Flaw.QUESTION)
        head = asked.stored.head
        if head is not None and head.claim.fence < stream.highest_fence:
            yield asked.finding(Flaw.FENCE)

    def _flaws_of_head(self, name: Name, stream: StoredStream) -> Iterator[Finding]:
        stored, wanted = stream.stored, self.head_of(name)
        if stored.head is None:
            if stored.events and not stored.unreadable:
                yield stream.finding(Flaw.HEAD_MISSING)
            return
        if wanted is None:
            return
        first, last = stored.events[0], stored.events[-1]
        actual = (stored.head.version, stored.head.created_at, stored.head.updated_at)
        for member, one, other in zip(
            ("version", "created_at", "updated_at"), actual, (last.version, first.at, last.at), strict=True
        ):
            if one != other:
                yield stream.finding(Flaw.HEAD, detail=member)
        for member in _MEMBERS:
            if getattr(stored.head.head, member) != getattr(wanted, member):
                yield stream.finding(Flaw.HEAD, detail=member)

    def _flaws_of_claim_columns(self, name: Name, stream: StoredStream) -> Iterator[Finding]:
        assert stream.stored.head is not None, "asked only where there is a head"
        claim, done_at = self.claim_of(name), stream.stored.head.claim.done_at
        if claim.ended_at not in {None, done_at}:
            yield stream.finding(Flaw.CLAIM)
        if (
            claim.stored.head is None
            and not claim.stored.events
            and not claim.stored.unreadable
            and done_at is not None
        ):
            yield claim.finding(Flaw.EVENTS_MISSING)


class Examiner:
    """Examines streams by their names, a page of the whole store or single ones."""

    def __init__(self, world: World, transactor: Transactor) -> None:
        self._world = world
        self._transactor = transactor

    async def examine(self, names: Sequence[Name]) -> Examination:
        """Return streams, with those that they belong to, as of one moment."""
        wanted = dict.fromkeys(names)
        for scope, stream in names:
            wanted.update(dict.fromkeys((scope, other) for other in _related(stream)))
        return Examination(self._transactor, await self._world.store.examine([*wanted]))

    async def names(self, after: Name | None, limit: int) -> Sequence[Name]:
        """Return the names of the streams of all scopes past one, by these."""
        return await self._world.store.list_names(after, limit)


def question_name(stream: str) -> str:
    """Return the name of the question to which a claim or an effect belongs; ids of ours have no slash."""
    noun: Any = CLAIMS if stream.startswith(CLAIMS.stream_of("")) else EFFECTS
    return CONTINUATIONS.stream_of(noun.id_of(stream).partition("/")[0])


def claim_name(stream: str) -> str:
    """Return the name of a question's claim."""
    return CLAIMS.stream_of(CONTINUATIONS.id_of(stream))


def _related(stream: str) -> Iterator[str]:
    if stream.startswith((CLAIMS.stream_of(""), EFFECTS.stream_of(""))):
        yield question_name(stream)
    elif stream.startswith(CONTINUATIONS.stream_of("")):
        yield claim_name(stream)
