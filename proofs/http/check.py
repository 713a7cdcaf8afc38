"""Compares what clients were told with what the file holds, and with what else they were told."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from pausemesh.core.effect_events import Failed, Resolution, Resolved, Started
from pausemesh.core.envelope import Status
from pausemesh.service.nouns import CONTINUATIONS, EFFECTS
from proofs.http.kept import missing
from proofs.http.places import Places
from proofs.http.request import STRICT
from proofs.http.told import DOUBT, Asked, Heard, Told
from proofs.kills.afterwards import leftovers
from proofs.stored import Stored, effect_id

_DECIDED: Final = frozenset({"TOKEN_ALREADY_USED", "CONTINUATION_CANCELLED", "CONTINUATION_EXPIRED"})
_MAY_BE_REFUSED: Final[dict[str, frozenset[str]]] = {
    "create": frozenset(),
    "token": _DECIDED | {"INVALID_TRANSITION"},
    "resume": _DECIDED | {"TOKEN_MISMATCH"},
    "answer": _DECIDED,
    "cancel": _DECIDED | {"INVALID_TRANSITION"},
    "claim": frozenset({"CLAIM_HELD", "INVALID_TRANSITION"}),
    "start": frozenset({"EFFECT_UNKNOWN", "LEASE_LOST"}),
    "outcome": frozenset({"LEASE_LOST"}),
    "resolve": frozenset({"INVALID_TRANSITION"}),
    "release": frozenset({"LEASE_LOST"}),
    "done": frozenset({"LEASE_LOST"}),
}
_SAYS_WHETHER_REPLAYED: Final = frozenset({"create", "resume", "answer", "start"})


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """What is counted, and what should not be."""

    counted: Counter[str] = dataclasses.field(default_factory=Counter)
    messages: list[str] = dataclasses.field(default_factory=list)

    def add(self, name: str, flaws: Iterator[str]) -> None:
        """Count and keep what is wrong."""
        found = [f"{name}: {flaw}" for flaw in flaws]
        self.counted[name] += len(found)
        self.messages.extend(found)


def compare(told: Told, stored: Stored, places: Places) -> Findings:
    """Judge every answer; whose life each event is known from ``places``."""
    findings = Findings()
    for asked in told.asked:
        _count(findings.counted, asked, places)
        findings.add("lost", (f"{asked}: {flaw}" for flaw in missing(asked, stored, places)))
        findings.add("lies", (f"{asked}: {flaw}" for flaw in _lies(asked, stored, places)))
        findings.add("astray", (f"{asked}: {flaw}" for flaw in _astray(asked)))
        findings.add("differing", (f"{asked}: {flaw}" for flaw in _differing(asked)))
    findings.add("second answers", _second_answers(told, stored))
    findings.add("second starts", _second_starts(told, stored))
    return findings


def compare_at_end(told: Told, stored: Stored, places: Places) -> Findings:
    """Judge every answer where all was brought to its end, and what is stored."""
    findings = compare(told, stored, places)
    findings.add("not whole", iter(stored.flaws()))
    findings.add("stuck", iter(leftovers(stored, told.runs)))
    return findings


def _count(counted: Counter[str], asked: Asked, places: Places) -> None:
    counted["requests"] += 1
    counted["acknowledged"] += bool(asked.granted)
    counted["refused"] += not asked.granted
    counted["in doubt"] += sum(answer.code in DOUBT for answer in asked.answers)
    if asked.do in STRICT:
        counted["retried answers"] += max(0, len(asked.granted) - 1)
        counted["unanswered"] += bool(asked.unheard)
        counted["committed"] += _had_committed(asked, places)


def _had_committed(asked: Asked, places: Places) -> bool:
    """Tell whether a request had taken place when its answer was lost."""
    seq = places.seq_of(asked)
    if seq is None or not asked.granted or places.life_of(seq) not in asked.unheard:
        return False
    first = asked.granted[0]
    return _says_replayed(asked, first) if asked.do in _SAYS_WHETHER_REPLAYED else places.life_of(seq) < first.life


def _says_replayed(asked: Asked, answer: Heard) -> bool:
    return answer.status == 200 if asked.do == "create" else bool(answer.body["replayed"])


def _lies(asked: Asked, stored: Stored, places: Places) -> Iterator[str]:
    """Yield what was said not to have happened and did, and what was said to be new and was not, or the other way."""
    seq = places.seq_of(asked)
    if asked.do in STRICT and seq is not None:
        refusals = [answer for answer in asked.answers if 400 <= answer.status < 500]
        yield from (
            f"refused with {one.code}, but stored" for one in refusals if not _is_known_doubt(asked, one, places)
        )
    if asked.do == "claim" and not asked.granted and not asked.unheard and _holds(asked, stored):
        yield "refused, but it holds the claim"
    if asked.do in _SAYS_WHETHER_REPLAYED and asked.granted:
        yield from ("told as new once more" for answer in asked.granted[1:] if not _says_replayed(asked, answer))
        if seq is not None:
            yield from _untrue_replay(asked, asked.granted[0], places.life_of(seq))


def _is_known_doubt(asked: Asked, answer: Heard, places: Places) -> bool:
    """Tell whether a start is told the truth after its lease has lapsed: that it is recorded, and now in doubt."""
    return asked.do == "start" and answer.code == "EFFECT_UNKNOWN" and answer.life == places.lives


def _untrue_replay(asked: Asked, first: Heard, life: int) -> Iterator[str]:
    is_replayed = _says_replayed(asked, first)
    if is_replayed and life not in asked.unheard:
        yield f"found done in life {life}, although no answer of then is missing"
    if not is_replayed and life != first.life:
        yield f"told as new in life {first.life}, although stored in life {life}"


def _holds(asked: Asked, stored: Stored) -> bool:
    found = stored.find(CONTINUATIONS, asked.about["id"])
    return found is not None and found.head is not None and found.head.holder == asked.mark


def _astray(asked: Asked) -> Iterator[str]:
    """Yield refusals that nothing in the world accounts for."""
    for answer in asked.answers:
        is_late = asked.do == "create" and asked.about["expires"] and answer.code == "INVALID_REQUEST"
        if not answer.is_yes and answer.status != 503 and answer.code not in _MAY_BE_REFUSED[asked.do] and not is_late:
            yield f"refused with {answer.status} {answer.code}"


def _differing(asked: Asked) -> Iterator[str]:
    """Yield answers that are not the first one, byte for byte."""
    digests = {answer.digest for answer in asked.granted}
    if len(digests) > 1:
        yield f"{len(digests)} different answers"
    yield from ("refused after it was granted" for answer in _after_success(asked) if not answer.is_yes)


def _after_success(asked: Asked) -> list[Heard]:
    if asked.do not in STRICT or not asked.granted:
        return []
    answers = asked.answers
    later = answers[answers.index(asked.granted[0]) :]
    return [answer for answer in later if answer.status != 503]


def _second_answers(told: Told, stored: Stored) -> Iterator[str]:
    """Yield questions that were decided more than once."""
    winners: defaultdict[str, set[str]] = defaultdict(set)
    for asked in told.asked:
        if asked.do in {"resume", "answer", "cancel"} and asked.granted:
            winners[asked.about["id"]].add(asked.mark)
    yield from (f"{noun_id} was decided by {sorted(marks)}" for noun_id, marks in winners.items() if len(marks) > 1)
    for _, noun_id, stream in stored.of(CONTINUATIONS):
        decisions = [row.type for row in stream.events if row.type.endswith((".resumed", ".cancelled", ".expired"))]
        if len(decisions) > 1:
            yield f"{noun_id} has {decisions}"
        if winners[noun_id] and stream.state(CONTINUATIONS).continuation.status is Status.EXPIRED:
            yield f"{noun_id} was decided by {sorted(winners[noun_id])}, and expired"


def _second_starts(told: Told, stored: Stored) -> Iterator[str]:
    """Yield effects that two were told to run, or that one was told to run whom the ledger does not know."""
    runners: defaultdict[str, set[str]] = defaultdict(set)
    for asked in told.asked:
        if asked.do == "start" and any(answer.body["effect"]["status"] == "started" for answer in asked.granted):
            runners[effect_id(asked.about["id"], asked.about["key_of_effect"])].add(asked.mark)
    for _, name, stream in stored.of(EFFECTS):
        events = [stamped.event for stamped in stream.stamped(EFFECTS)]
        attempts = {event.attempt for event in events if isinstance(event, Started)}
        refuted = sum(
            isinstance(event, Failed) or (isinstance(event, Resolved) and event.resolution is Resolution.NOT_DONE)
            for event in events
        )
        if len(runners[name]) > 1 + refuted or runners[name] - attempts:
            yield f"{name}: {sorted(runners[name])} were told to run it, of {attempts}, {refuted} refuted"
