"""The assistants come back: one goes on and meets its fate, its twin takes over, and a third comes late."""

import asyncio
import dataclasses
from typing import Any, Final

from pausemesh.cli.demo.evening import Evening, count_of
from pausemesh.cli.demo.plans import Fate, Plan
from pausemesh.cli.demo.processes import BrokenRoundError, Child
from pausemesh.cli.demo.stage import Stage
from pausemesh.cli.demo.wire import Step

KILLED: Final = "killed"
STOPPED: Final = "stopped"
DONE: Final = "done"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who held the claim under which fence, and how that ended."""

    fence: int
    end: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn:
    """What was seen.

    Attributes:
        holders: in the order in which they held the claim.
        notified: how often somebody was notified of the question again.
        doubt: the code with which the effect was in doubt, if it was.
        settled: what evidence made of it.
        evidence: what was seen at the airline.
        refusals: codes, by what was refused: other arguments, or an overtaken worker's outcome and ``done``.
        booked_early: bookings when the other arguments had been refused.
        result: what the claim was finished with.
    """

    holders: tuple[Holder, ...]
    notified: int = 0
    doubt: str | None = None
    settled: str | None = None
    evidence: str | None = None
    refusals: dict[str, str] = dataclasses.field(default_factory=dict)
    booked_early: int = 0
    result: Any = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What was seen in the end.

    Attributes:
        late: the code that an assistant got who came after all was done.
        late_result: the recorded result that came with it.
        starts: how often the ledger has the booking started.
        tickets: what the airline sold under the trip.
    """

    late: str
    late_result: Any
    starts: int
    tickets: tuple[str, ...]


async def go_on(stage: Stage, plan: Plan) -> GoingOn:
    """Start the assistants again, and see one of them through to the end."""
    pair = await asyncio.gather(*(stage.assistant(plan, name, halts=True) for name in ("assistant", "twin")))
    await asyncio.gather(*(child.until(Step.ASKED) for child in pair))
    for child in pair:
        child.tell()
    first, fence = await _first_to_claim(pair)
    twin = pair[1] if first is pair[0] else pair[0]
    stage.progress.tell(plan, f"process {first.pid} goes on under fence {fence}, process {twin.pid} waits")
    seen = await _see_through(stage, plan, first, twin, fence)
    notices = sum(1 for child in pair for line in child.said if line["step"] == Step.NOTIFIED)
    return dataclasses.replace(seen, notified=notices)


async def look_back(stage: Stage, plan: Plan, evening: Evening) -> Aftermath:
    """Start another assistant once all is done, and count what was done."""
    third = await stage.assistant(plan, "third assistant")
    await third.until(Step.ASKED)
    third.tell()
    late = await third.until(Step.ALREADY_DONE)
    effects = await stage.mesh.effects(evening.question)
    tickets = tuple(booking.ticket for booking in stage.airline.bookings(plan.trip))
    stage.progress.tell(
        plan,
        f"a third assistant is told that all is done ({late['code']}); the airline has "
        + count_of(len(tickets), "booking"),
    )
    return Aftermath(
        late=late["code"],
        late_result=late["result"],
        starts=sum(effect.attempts for effect in effects),
        tickets=tickets,
    )


async def _first_to_claim(pair: list[Child]) -> tuple[Child, int]:
    claims = {asyncio.create_task(child.until(Step.CLAIMED)): child for child in pair}
    try:
        done, _ = await asyncio.wait(claims, return_when=asyncio.FIRST_COMPLETED)
        fences = {claims[task]: task.result()["fence"] for task in done}
    finally:
        for task in claims:
            task.cancel()
        await asyncio.gather(*claims, return_exceptions=True)
    if len(fences) > 1:
        raise BrokenRoundError("both assistants hold the claim at once")
    return next(iter(fences.items()))


async def _see_through(stage: Stage, plan: Plan, first: Child, twin: Child, fence: int) -> GoingOn:
    if plan.halt_at is None:
        return await _finish(stage, plan, first, twin, fence)
    if plan.halt_at is not Step.CLAIMED:
        await first.until(plan.halt_at)
    await _strike(stage, plan, first)
    seen = await _take_over(stage, plan, twin, Holder(fence=fence, end=plan.fate.value))
    if plan.fate is Fate.KILLED:
        return seen
    return dataclasses.replace(seen, refusals=await _wake_up(stage, plan, first))


async def _finish(stage: Stage, plan: Plan, first: Child, twin: Child, fence: int) -> GoingOn:
    done = await first.until(Step.DONE)
    await twin.until(Step.ALREADY_DONE)
    refused = first.reported(Step.REFUSED, what="arguments")
    code = "nothing" if refused is None else refused["code"]
    stage.progress.tell(plan, f"another flight than the approved one is refused: {code}; the approved one is booked")
    return GoingOn(
        holders=(Holder(fence=fence, end=DONE),),
        refusals={"arguments": code},
        booked_early=0 if refused is None else refused["bookings"],
        result=done["result"],
    )


async def _strike(stage: Stage, plan: Plan, first: Child) -> None:
    if plan.fate is Fate.STOPPED:
        first.stop()
        stage.progress.tell(
            plan, f"process {first.pid} {plan.title.partition(',')[0]}; it still believes that it holds"
        )
        return
    await first.kill()
    stage.progress.tell(plan, f"process {first.pid} {plan.title} (-9)")


async def _take_over(stage: Stage, plan: Plan, twin: Child, before: Holder) -> GoingOn:
    twin.tell()
    claimed = await twin.until(Step.CLAIMED)
    stage.progress.tell(plan, f"the lease lapsed; process {twin.pid} takes over under fence {claimed['fence']}")
    done = await twin.until(Step.DONE)
    doubt, settled = twin.reported(Step.IN_DOUBT), twin.reported(Step.SETTLED)
    if settled is None:
        ran = twin.reported(Step.CALLING) is not None
        how = "books" if ran else "gets the recorded ticket without booking again"
        stage.progress.tell(plan, f"process {twin.pid} {how}, and is done")
    else:
        code = None if doubt is None else doubt["code"]
        stage.progress.tell(plan, f"in doubt ({code}). {settled['evidence']} Settled as {settled['outcome']}.")
    return GoingOn(
        holders=(before, Holder(fence=claimed["fence"], end=DONE)),
        doubt=None if doubt is None else doubt["code"],
        settled=None if settled is None else settled["outcome"],
        evidence=None if settled is None else settled["evidence"],
        result=done["result"],
    )


async def _wake_up(stage: Stage, plan: Plan, first: Child) -> dict[str, str]:
    """Wake the overtaken worker, and let it try to record what it did."""
    first.tell()
    first.wake()
    outcome = await first.until(Step.REFUSED, Step.RECORDED)
    done = await first.until(Step.REFUSED, Step.DONE)
    refusals = {"outcome": outcome.get("code", "nothing"), "done": done.get("code", "nothing")}
    stage.progress.tell(
        plan,
        f"process {first.pid} wakes up; its outcome is told {refusals['outcome']}, its done {refusals['done']}",
    )
    return refusals
