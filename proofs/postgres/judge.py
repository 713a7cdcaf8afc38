"""Who won a race over HTTP, and what the others were told."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from pausemesh.core.continuation_events import Cancelled, Resumed
from pausemesh.service.nouns import CONTINUATIONS
from proofs.http.told import Asked, Told
from proofs.postgres.racing import RIVALS
from proofs.stored import Stored

_DECIDING: Final = frozenset({"resume", "answer", "cancel"})
_REPEATS: Final = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """What is counted over all races, and messages about what should not be."""

    counted: Counter[str] = dataclasses.field(default_factory=Counter)
    messages: list[str] = dataclasses.field(default_factory=list)

    def add(self, name: str, flaws: Iterator[str]) -> None:
        """Count and keep what is wrong."""
        found = [f"{name}: {flaw}" for flaw in flaws]
        self.counted[name] += len(found)
        self.messages.extend(found)


def judge(told: Told, stored: Stored | None) -> Judged:
    """Judge every race; by what is stored, too, where that can be read."""
    rivals_by_id: defaultdict[str, list[Asked]] = defaultdict(list)
    for asked in told.asked:
        if asked.do in _DECIDING:
            rivals_by_id[asked.about["id"]].append(asked)
    judged = Judged()
    for noun_id, rivals in rivals_by_id.items():
        winners = [rival for rival in rivals if rival.granted]
        judged.counted["races"] += 1
        judged.counted["attempts"] += len(rivals)
        judged.counted[f"won by {winners[0].do}" if len(winners) == 1 else "not won by one"] += 1
        judged.add("double winners", (f"{noun_id}: {winner}" for winner in winners[1:]))
        judged.add("no winner", (f"{noun_id}: {rivals}" for _ in range(1 - len(winners))))
        judged.add("too few rivals", (f"{noun_id}: {len(rivals)}" for _ in range(RIVALS - len(rivals))))
        for winner in winners[:1]:
            losers = [rival for rival in rivals if not rival.granted]
            judged.add("losers told otherwise", _told_otherwise(winner, losers))
            judged.add("repeats that differ", _differing(winner))
            if stored is not None:
                judged.add("stored otherwise", _stored_otherwise(noun_id, winner, stored))
    return judged


def _told_otherwise(winner: Asked, losers: list[Asked]) -> Iterator[str]:
    won = winner.granted[0].body["continuation"]
    decided_at = won.get("resumedAt") or won.get("cancelledAt")
    outcome = {"status": won["status"], "version": won["version"], "decidedAt": decided_at}
    for loser in losers:
        if loser.answers[-1].body.get("recorded") != outcome:
            yield f"{loser}: {loser.answers[-1].body}, but {outcome} is the outcome"


def _differing(winner: Asked) -> Iterator[str]:
    """Yield what is wrong with the answers to the winner, the first and those to its repeats."""
    digests = {answer.digest for answer in winner.granted}
    if len(winner.granted) < 1 + _REPEATS or digests != {winner.granted[0].digest} or None in digests:
        yield f"{winner}: {len(winner.granted)} answers, {len(digests)} different ones"


def _stored_otherwise(noun_id: str, winner: Asked, stored: Stored) -> Iterator[str]:
    found = stored.find(CONTINUATIONS, noun_id)
    events = [] if found is None else [stamped.event for stamped in found.stamped(CONTINUATIONS)]
    decisions = [event for event in events if isinstance(event, Resumed | Cancelled)]
    keys = [event.idempotency_key if isinstance(event, Resumed) else event.reason for event in decisions]
    if keys != [winner.mark]:
        yield f"{noun_id}: decided under {keys}, but {winner} won"
