"""In the morning everybody answers at once, and the one whose answer counts sends it again."""

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pausemesh import Sha256TokenIssuer
from pausemesh.cli.demo.desk import ACCEPTED, Call
from pausemesh.cli.demo.evening import Evening
from pausemesh.cli.demo.plans import Plan
from pausemesh.cli.demo.processes import Child, Line
from pausemesh.cli.demo.stage import Stage, soon
from pausemesh.cli.demo.wire import Step

ANSWERS: Final = 20
_BY_OPERATOR: Final = 8
_REPEATS: Final = 8
_FIRST_FLIGHT: Final = 610


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a call: an error's code, or that it was accepted, and the outcome's canonical JSON."""

    call: Call
    desk: int
    code: str
    status: str | None
    replayed: bool = False
    envelope: str | None = dataclasses.field(default=None, repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the caller was given an outcome, new or recorded."""
        return self.code == ACCEPTED


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Morning:
    """What was seen.

    Attributes:
        race: what each of those was told who answered at once.
        repeats: what the winner's very call was told afterwards.
        other_body: what the winner's key was told with another answer.
        wrong_token: what somebody without the right token was told.
    """

    race: tuple[Told, ...]
    repeats: tuple[Told, ...]
    other_body: Told
    wrong_token: Told

    @property
    def winners(self) -> tuple[Told, ...]:
        """Whose answers were accepted."""
        return tuple(told for told in self.race if told.accepted)

    @property
    def losses(self) -> dict[str, int]:
        """How many were refused, by code."""
        return dict(Counter(told.code for told in self.race if not told.accepted))

    @property
    def differing(self) -> int:
        """How many repeats were told anything but the recorded outcome."""
        recorded = {told.envelope for told in self.winners}
        return sum(1 for told in self.repeats if not told.replayed or {told.envelope} != recorded)


async def live_through_morning(stage: Stage, plan: Plan, evening: Evening, desks: Sequence[Child]) -> Morning:
    """Answer the question from all desks at once, then again as the winner did."""
    race = await _fire(desks, _answers(stage, plan, evening))
    accepted = [told for told in race if told.accepted]
    losses = Counter(told.code for told in race if not told.accepted)
    stage.progress.tell(
        plan,
        f"{len(race)} answers at once from {len(desks)} processes: "
        + ", ".join(f"{_body(told.call)} by {told.call.way} at desk {told.desk} accepted" for told in accepted)
        + "".join(f", {count} told {code}" for code, count in losses.items()),
    )
    winner = (accepted or race)[0].call
    repeats = await _fire(desks, [dataclasses.replace(winner, label=f"{winner.label}/{n}") for n in range(_REPEATS)])
    other_body = dataclasses.replace(winner, label=f"{plan.trip}/other-body", payload=_payload(plan, ANSWERS))
    stranger = dataclasses.replace(
        winner, label=f"{plan.trip}/wrong-token", token=Sha256TokenIssuer().issue(), operator=None
    )
    odd = await _fire(desks, [other_body, stranger])
    morning = Morning(race=race, repeats=repeats, other_body=odd[0], wrong_token=odd[1])
    stage.progress.tell(
        plan,
        f"the accepted call {len(repeats)} times more: {len(repeats) - morning.differing} times the recorded outcome",
    )
    stage.progress.tell(plan, f"its key with another answer: {odd[0].code}; a wrong token: {odd[1].code}")
    return morning


def _answers(stage: Stage, plan: Plan, evening: Evening) -> list[Call]:
    """Return answers that all differ in key and body, in an order that chance decides."""
    calls = [
        Call(
            label=f"{plan.trip}/{number}",
            question=evening.question,
            key=f"{plan.trip}-answer-{number}",
            payload=_payload(plan, number),
            token=None if number < _BY_OPERATOR else evening.token,
            operator=f"operator-{number}" if number < _BY_OPERATOR else None,
            shown_digest=evening.shown_digest if number < _BY_OPERATOR else None,
        )
        for number in range(ANSWERS)
    ]
    stage.chance.shuffle(calls)
    return calls


def _payload(plan: Plan, number: int) -> dict[str, Any]:
    if plan.approval:
        return {"approved": True, "note": f"yes, says caller {number}"}
    return {"flight": f"AZ{_FIRST_FLIGHT + number}"}


def _body(call: Call) -> str:
    return str(call.payload.get("flight", "the approval"))


async def _fire(desks: Sequence[Child], calls: Sequence[Call]) -> tuple[Told, ...]:
    """Deal the calls out to the desks, have all made at the same instant, and return what each was told."""
    at = soon()
    hands = [calls[start :: len(desks)] for start in range(len(desks))]
    for desk, hand in zip(desks, hands, strict=True):
        desk.tell(at=at, calls=[dataclasses.asdict(call) for call in hand])
    told = await asyncio.gather(
        *(_listen(desk, number, hand) for number, (desk, hand) in enumerate(zip(desks, hands, strict=True), start=1))
    )
    order = {call.label: place for place, call in enumerate(calls)}
    return tuple(sorted(itertools.chain(*told), key=lambda one: order[one.call.label]))


async def _listen(desk: Child, number: int, hand: Sequence[Call]) -> list[Told]:
    open_calls, told = {call.label: call for call in hand}, list[Told]()
    while open_calls:
        line = await desk.until(Step.TOLD)
        # A round that broke may have left answers behind.
        call = open_calls.pop(line["label"], None)
        if call is not None:
            told.append(_told(call, number, line))
    return told


def _told(call: Call, desk: int, line: Line) -> Told:
    return Told(
        call=call,
        desk=desk,
        code=line["code"],
        status=line["status"],
        replayed=line.get("replayed", False),
        envelope=line.get("envelope"),
    )
