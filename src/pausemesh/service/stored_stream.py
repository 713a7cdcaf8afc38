"""What the rows of one stream say, looked at by themselves: whatever they are, they become a reading and findings."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pausemesh.core import claim
from pausemesh.core.claim import Finished
from pausemesh.core.continuation import State
from pausemesh.core.continuation_events import Created
from pausemesh.core.effect_events import Completed, Doubted, Failed, Started
from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.question import shown_digest
from pausemesh.core.stored_event import Stamped, write_stored_event
from pausemesh.records import Examined, Recorded
from pausemesh.service.findings import Finding, Flaw
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS, KEYS, Noun
from pausemesh.service.transact import Transactor

NOUNS: Final[tuple[Noun[Any, Any], ...]] = (CONTINUATIONS, CLAIMS, EFFECTS, KEYS)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredStream:
    """A stream as it was read.

    ``noun`` is None where the name is of none, ``state`` where the events give none. ``events`` are those that can be
    read.
    """

    stored: Examined
    noun: Noun[Any, Any] | None
    state: Any
    events: tuple[Stamped[Any], ...]
    findings: tuple[Finding, ...]

    @property
    def question(self) -> Continuation | None:
        """The question, where this is one."""
        return self.state.continuation if isinstance(self.state, State) else None

    @property
    def ended_at(self) -> datetime | None:
        """When its last event was stored, where this is a claim that is done."""
        last = self.stored.events[-1] if self.stored.events else None
        return last.at if last is not None and last.type == claim.FINISHED_TYPE else None

    @property
    def highest_fence(self) -> int:
        """The highest fence under which one of its events was recorded, 0 where none was."""
        fenced = (claim.Failed, Finished, Started, Completed, Failed, Doubted)
        return max((stamped.event.fence for stamped in self.events if isinstance(stamped.event, fenced)), default=0)

    def finding(self, flaw: Flaw, *, version: int | None = None, detail: str | None = None) -> Finding:
        """Return a finding about this stream."""
        return Finding(flaw=flaw, scope=self.stored.scope, stream=self.stored.stream, version=version, detail=detail)


def noun_of(stream: str) -> Noun[Any, Any] | None:
    """Return the noun that a stream's name tells."""
    return next((noun for noun in NOUNS if stream.startswith(noun.stream_of(""))), None)


def read_stream(transactor: Transactor, stored: Examined) -> StoredStream:
    """Read what is stored of a stream."""
    noun = noun_of(stored.stream)
    findings = [*_flaws_of_rows(stored)]
    if noun is None:
        findings.append(_finding(stored, Flaw.NOUN))
        return StoredStream(stored=stored, noun=None, state=None, events=(), findings=tuple(findings))
    events: list[Stamped[Any]] = []
    for recorded in stored.events:
        stamped = _read_event(transactor, noun, stored, recorded)
        if isinstance(stamped, Stamped):
            events.append(stamped)
            findings += _flaws_of_bytes(transactor, noun, stored, recorded, stamped)
        else:
            findings.append(stamped)
    state = None
    if events and not any(finding.flaw in {Flaw.UNREADABLE, Flaw.VERSIONS} for finding in findings):
        state = _replayed(noun, stored, events, findings)
    return StoredStream(stored=stored, noun=noun, state=state, events=tuple(events), findings=tuple(findings))


def _flaws_of_rows(stored: Examined) -> Iterator[Finding]:
    if stored.unreadable:
        yield _finding(stored, Flaw.UNREADABLE)
    if not stored.events and not stored.unreadable:
        yield _finding(stored, Flaw.EVENTS_MISSING)
    head_version = 0 if stored.head is None else stored.head.version
    last_seq = 0
    for expected, recorded in enumerate(stored.events, start=1):
        if recorded.version != expected and not stored.unreadable:
            yield _finding(stored, Flaw.VERSIONS, expected)
            return
        if recorded.seq <= last_seq:
            yield _finding(stored, Flaw.ORDER, recorded.version)
        last_seq = recorded.seq
    if 0 < len(stored.events) < head_version and not stored.unreadable:
        yield _finding(stored, Flaw.VERSIONS, len(stored.events) + 1)


def _read_event(
    transactor: Transactor, noun: Noun[Any, Any], stored: Examined, recorded: Recorded
) -> Stamped[Any] | Finding:
    try:
        return transactor.stamp(noun, noun.id_of(stored.stream), recorded)
    except (PauseMeshError, RecursionError):
        return _finding(stored, Flaw.UNREADABLE, recorded.version)


def _flaws_of_bytes(
    transactor: Transactor, noun: Noun[Any, Any], stored: Examined, recorded: Recorded, stamped: Stamped[Any]
) -> Iterator[Finding]:
    """Yield where an event is stored in another way than it would be written: nothing may be added to it unseen."""
    members = noun.event_members(stamped.event)
    if write_stored_event(noun.id_of(stored.stream), recorded.version, members) != transactor.unsealed(recorded):
        yield _finding(stored, Flaw.ENCODING, recorded.version)
    event = stamped.event
    if isinstance(event, Created) and event.shown_digest != shown_digest(event.id, event.payload, event.expires_at):
        yield _finding(stored, Flaw.DIGEST, recorded.version)


def _replayed(
    noun: Noun[Any, Any], stored: Examined, events: list[Stamped[Any]], findings: list[Finding]
) -> object | None:
    try:
        state: object = noun.replay(events)
    except PauseMeshError:
        findings.append(_finding(stored, Flaw.REPLAY))
        return None
    if isinstance(state, State) and _is_late(state.continuation):
        findings.append(_finding(stored, Flaw.DEADLINE, state.continuation.version))
    return state


def _is_late(question: Continuation) -> bool:
    """Tell whether it was decided on the wrong side of its deadline."""
    decided, due = question.decided_at, question.expires_at
    if decided is None:
        return False
    is_past = due is not None and decided >= due
    return is_past is not (question.status is Status.EXPIRED)


def _finding(stored: Examined, flaw: Flaw, version: int | None = None) -> Finding:
    return Finding(flaw=flaw, scope=stored.scope, stream=stored.stream, version=version)
