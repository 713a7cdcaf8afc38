"""A round as far as it came, and what of it is not as it must be."""

import dataclasses
from collections.abc import Iterator
from typing import Final, TypeAlias

from pausemesh.cli.demo.evening import Evening
from pausemesh.cli.demo.going_on import Aftermath, GoingOn, Holder
from pausemesh.cli.demo.morning import ANSWERS, Morning
from pausemesh.cli.demo.plans import Fate, Plan

Expectation: TypeAlias = tuple[bool, str]
"""Whether it holds, and what it says where it does not."""

_SIGKILLED: Final = -9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was seen of a round; ``broken`` says why there is no more."""

    plan: Plan
    evening: Evening | None = None
    morning: Morning | None = None
    going_on: GoingOn | None = None
    aftermath: Aftermath | None = None
    broken: str | None = None


def violations(one: Round) -> tuple[str, ...]:
    """Return a sentence for each expectation that a round does not meet."""
    return tuple(f"round {one.plan.number}: {sentence}" for holds, sentence in _expectations(one) if not holds)


def _expectations(one: Round) -> Iterator[Expectation]:
    yield one.broken is None, f"it broke: {one.broken}"
    if one.evening is not None:
        yield from _of_evening(one.evening)
    if one.morning is not None:
        yield from _of_morning(one.morning)
    if one.going_on is not None:
        yield from _of_going_on(one.plan, one.going_on)
    if one.aftermath is not None and one.going_on is not None:
        yield from _of_aftermath(one.plan, one.going_on, one.aftermath)
    elif one.broken is None:
        yield False, "it did not reach its end"


def _of_evening(seen: Evening) -> Iterator[Expectation]:
    yield seen.found == {seen.question}, f"one key led to {len(seen.found)} questions"
    yield seen.notified == 1, f"somebody was notified {seen.notified} times"
    yield set(seen.ends) == {_SIGKILLED}, f"the assistants ended with {seen.ends} and not by -9"
    yield seen.unchanged, "the question changed after those who asked were killed"
    yield seen.probe == "ANSWER_INVALID", f"the token with a wrong answer got {seen.probe}"


def _of_morning(seen: Morning) -> Iterator[Expectation]:
    yield len(seen.race) == ANSWERS, f"{len(seen.race)} answers were given and not {ANSWERS}"
    yield len(seen.winners) == 1, f"{len(seen.winners)} answers were accepted"
    yield not any(told.replayed for told in seen.race), "an answer was taken for a repeat"
    lost = ANSWERS - 1
    yield seen.losses == {"TOKEN_ALREADY_USED": lost}, f"the other answers got {seen.losses}"
    statuses = {told.status for told in seen.race}
    yield statuses == {"resumed"}, f"the callers were told the statuses {sorted(map(str, statuses))}"
    yield len(seen.repeats) > 0, "the accepted call was not repeated"
    yield seen.differing == 0, f"{seen.differing} repeats did not get the recorded outcome"
    code = seen.other_body.code
    yield code == "IDEMPOTENCY_CONFLICT", f"the key with another answer got {code}"
    yield seen.wrong_token.code == "TOKEN_MISMATCH", f"a wrong token got {seen.wrong_token.code}"


def _of_going_on(plan: Plan, seen: GoingOn) -> Iterator[Expectation]:
    last = Holder(fence=1 if plan.fate is Fate.FINISHES else 2, end="done")
    first = () if plan.fate is Fate.FINISHES else (Holder(fence=1, end=plan.fate.value),)
    yield seen.holders == (*first, last), f"the claim was held by {seen.holders}"
    yield seen.notified == 0, f"somebody was notified {seen.notified} times of a question that was answered"
    doubt = None if plan.settled is None else "EFFECT_UNKNOWN"
    yield seen.doubt == doubt, f"the booking's doubt was {seen.doubt} and not {doubt}"
    yield seen.settled == plan.settled, f"the booking was settled as {seen.settled} and not {plan.settled}"
    refusals = _refusals_of(plan)
    yield seen.refusals == refusals, f"refused was {seen.refusals} and not {refusals}"
    yield seen.booked_early == 0, f"{seen.booked_early} bookings were made for what was not approved"


def _of_aftermath(plan: Plan, going_on: GoingOn, seen: Aftermath) -> Iterator[Expectation]:
    yield len(seen.tickets) == 1, f"the airline made {len(seen.tickets)} bookings"
    expected = [{"ticket": ticket} for ticket in seen.tickets]
    yield expected == [going_on.result], "the recorded result is not the airline's ticket"
    yield seen.late == "INVALID_TRANSITION", f"an assistant that came late got {seen.late}"
    yield seen.late_result == going_on.result, "an assistant that came late was told another result"
    yield seen.starts == plan.starts, f"the ledger has {seen.starts} starts and not {plan.starts}"


def _refusals_of(plan: Plan) -> dict[str, str]:
    if plan.approval:
        return {"arguments": "ACTION_MISMATCH"}
    if plan.fate is Fate.STOPPED:
        return {"outcome": "LEASE_LOST", "done": "LEASE_LOST"}
    return {}
