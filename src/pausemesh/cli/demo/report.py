"""What the demo says in the end: a table, a verdict, or both as JSON."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from pausemesh.cli.demo.evening import short
from pausemesh.cli.demo.going_on import GoingOn
from pausemesh.cli.demo.morning import Morning, Told
from pausemesh.cli.demo.rounds import Round, violations

_NOTHING: Final = "-"
_ROUND: Final = "round\nquestion"
_COLUMNS: Final = ("won\nlost\nrepeats", "fence", "in doubt,\nrefused", "booked")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All rounds of a demo, and what it took.

    Attributes:
        rounds: as far as each of them came.
        seed: what chance was made of.
        seconds: how long it took.
        trouble: why there is no more, where the demo itself ended early.
    """

    rounds: tuple[Round, ...]
    seed: int
    seconds: float
    trouble: str | None = None

    @property
    def violations(self) -> tuple[str, ...]:
        """A sentence for each expectation that was not met; none where all is as it must be."""
        trouble = self.trouble or (None if self.rounds else "no round was run")
        of_rounds = (sentence for one in self.rounds for sentence in violations(one))
        return (*(() if trouble is None else (trouble,)), *of_rounds)

    @property
    def exit_code(self) -> int:
        """0 where all is as it must be, else 1."""
        return 1 if self.violations else 0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON in camelCase; it holds no token."""
        return {
            "asItMustBe": not self.violations,
            "violations": list(self.violations),
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "rounds": [_round_to_json(one) for one in self.rounds],
        }

    def print_to(self, console: Console) -> None:
        """Print the table and the verdict."""
        table = Table(_ROUND, box=box.SIMPLE, pad_edge=False)
        for column in _COLUMNS:
            table.add_column(column, no_wrap=True)
        for one in self.rounds:
            table.add_row(*_cells(one), end_section=True)
        console.print(table)
        for line in self._verdict():
            console.print(line, markup=False, highlight=False)

    def _verdict(self) -> Sequence[str]:
        if self.violations:
            return ["NOT as it must be:", *(f"  {sentence}" for sentence in self.violations)]
        mornings = [one.morning for one in self.rounds if one.morning is not None]
        answers = sum(len(morning.race) for morning in mornings)
        repeats = sum(len(morning.repeats) for morning in mornings)
        doubts = sum(1 for one in self.rounds if one.going_on is not None and one.going_on.doubt is not None)
        return [
            f"All as it must be, in {self.seconds:.1f} s (seed {self.seed}):",
            f"  {answers} answers to {len(mornings)} questions, {len(mornings)} accepted;",
            f"  {repeats} repeats, all told the recorded outcome;",
            f"  {len(self.rounds)} trips, booked once each, {doubts} of them in doubt until somebody looked.",
        ]


def _cells(one: Round) -> tuple[str, ...]:
    question = _NOTHING if one.evening is None else short(one.evening.question)
    return (
        f"{one.plan.number} {one.plan.title}\n{question}",
        _NOTHING if one.morning is None else _answers(one.morning),
        *((_NOTHING, _NOTHING) if one.going_on is None else _claim_and_booking(one.going_on)),
        _NOTHING if one.aftermath is None else str(len(one.aftermath.tickets)),
    )


def _answers(seen: Morning) -> str:
    won = [f"desk {told.desk}, {told.call.way}: {_body(told)}" for told in seen.winners]
    lost = [f"{count} {code}" for code, count in seen.losses.items()]
    differing = "identical" if seen.differing == 0 else f"but {seen.differing} differ"
    return "\n".join([*(won or ["nobody"]), *lost, f"{len(seen.repeats)} repeats {differing}"])


def _claim_and_booking(seen: GoingOn) -> tuple[str, str]:
    held = "\n".join(f"{holder.fence} {holder.end}" for holder in seen.holders)
    doubt = [] if seen.doubt is None else [seen.doubt, f"evidence: {seen.settled}"]
    refused = [text for what, code in seen.refusals.items() for text in (f"{what}:", code)]
    return held, "\n".join([*doubt, *refused]) or _NOTHING


def _body(told: Told) -> str:
    return str(told.call.payload.get("flight", "yes"))


def _round_to_json(one: Round) -> dict[str, Any]:
    return {
        "number": one.plan.number,
        "title": one.plan.title,
        "broken": one.broken,
        "violations": list(violations(one)),
        **({} if one.evening is None else _evening_to_json(one)),
        **({} if one.morning is None else _morning_to_json(one.morning)),
        **({} if one.going_on is None else _going_on_to_json(one.going_on)),
        **({} if one.aftermath is None else _aftermath_to_json(one)),
    }


def _evening_to_json(one: Round) -> dict[str, Any]:
    assert one.evening is not None, "its caller looked"
    return {
        "questionId": one.evening.question,
        "questions": len(one.evening.found),
        "notified": one.evening.notified,
        "unchangedAfterKill": one.evening.unchanged,
        "wrongShape": one.evening.probe,
    }


def _morning_to_json(seen: Morning) -> dict[str, Any]:
    return {
        "answers": len(seen.race),
        "won": [{"payload": told.call.payload, "desk": told.desk, "by": told.call.way} for told in seen.winners],
        "lost": seen.losses,
        "repeats": {"count": len(seen.repeats), "identical": seen.differing == 0},
        "otherBody": seen.other_body.code,
        "wrongToken": seen.wrong_token.code,
    }


def _going_on_to_json(seen: GoingOn) -> dict[str, Any]:
    return {
        "holders": [dataclasses.asdict(holder) for holder in seen.holders],
        "inDoubt": seen.doubt is not None,
        "settled": seen.settled,
        "evidence": seen.evidence,
        "refused": seen.refusals,
        "result": seen.result,
    }


def _aftermath_to_json(one: Round) -> dict[str, Any]:
    assert one.aftermath is not None, "its caller looked"
    return {
        "bookings": len(one.aftermath.tickets),
        "starts": one.aftermath.starts,
        "late": one.aftermath.late,
    }
