"""Who won, what the others were told, and what is stored."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from pausemesh import continuation_to_json
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.continuation_events import Resumed
from pausemesh.core.errors import PauseMeshError, TokenAlreadyUsed, TokenMismatch
from pausemesh.service.nouns import CONTINUATIONS
from proofs.children import Line
from proofs.races.racer import Question
from proofs.stored import Stored


@dataclasses.dataclass(frozen=True, slots=True)
class Judge:
    """Judges races one by one.

    Attributes:
        counted: over all races.
        messages: about what should not be.
    """

    counted: Counter[str] = dataclasses.field(default_factory=Counter)
    messages: list[str] = dataclasses.field(default_factory=list)

    def judge(self, question: Question, attempts: Sequence[Line], stored: Stored) -> None:
        """Judge the race for one question."""
        winners = [attempt for attempt in attempts if "won" in attempt]
        losers = [attempt for attempt in attempts if "won" not in attempt]
        self.counted["races"] += 1
        self.counted["attempts"] += len(attempts)
        if len(winners) > 1:
            self._fault("double winners", question, f"{len(winners)} answers were accepted")
        elif not winners:
            self._fault("no winner", question, f"no answer was accepted: {losers}")
        else:
            self._judge_winner(question, winners[0], stored)
            self._judge_losers(question, winners[0], losers)

    def _judge_winner(self, question: Question, winner: Line, stored: Stored) -> None:
        if winner["replayed"] or winner["again"] != winner["won"]:
            self._fault("repeats that differ", question, f"a repeat by the winner differs: {winner}")
        if _stored(question, stored) != [winner["won"]]:
            self._fault("stored otherwise", question, f"{_stored(question, stored)} is stored, {winner} was told")

    def _judge_losers(self, question: Question, winner: Line, losers: Sequence[Line]) -> None:
        for loser in losers:
            if (loser["code"], loser["recorded"]) != (TokenAlreadyUsed.code, winner["recorded"]):
                self._fault("losers told otherwise", question, f"told {loser}, won {winner}")
            if loser["foreign"] not in {None, TokenMismatch.code}:
                self._fault("foreign tokens", question, f"a token of the other scope: {loser['foreign']}")

    def _fault(self, kind: str, question: Question, message: str) -> None:
        self.counted[kind] += 1
        self.messages.append(f"{question.scope} {question.id}: {message}")


def _stored(question: Question, stored: Stored) -> list[str]:
    """Return the question as it is stored, once for each answer."""
    found = stored.find(CONTINUATIONS, question.id, question.scope)
    assert found is not None, "it was created"
    try:
        shown = canonical_bytes(continuation_to_json(found.state(CONTINUATIONS).continuation)).decode()
    except PauseMeshError as error:
        return [error.code]
    return [shown for stamped in found.stamped(CONTINUATIONS) if isinstance(stamped.event, Resumed)]
