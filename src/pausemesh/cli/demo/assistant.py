"""A travel assistant, as a process: it asks which flight to take, and books the one that was answered.

Its one argument is an ``Errand`` as JSON. It prints a line for each step, and stands still after being asked about
and at ``halt_at`` until it is told to go on, so that whoever started it can kill it there.
"""

import asyncio
import dataclasses
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pausemesh
from pausemesh.cli.demo.airline import Airline
from pausemesh.cli.demo.envelopes import text_of
from pausemesh.cli.demo.wire import Step, hear, say

PATIENCE: Final = timedelta(seconds=30)
"""How long an assistant waits for an answer or for its turn; nobody waits longer in the demo."""

EFFECT: Final = "book"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What an assistant is started with.

    Attributes:
        url: of the mesh.
        airline: the path of the airline's book.
        trip: the customer's reference, and the start of the question's key.
        lease_seconds: how long a claim outlives its holder.
        approved: what to book, where that needs approval; otherwise the flight is asked for.
        halt_at: the step at which to stand still.
    """

    url: str
    airline: str
    trip: str
    lease_seconds: float
    approved: dict[str, Any] | None = None
    halt_at: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """The answer that is wanted."""

    flight: str


class Assistant:
    """Runs one errand."""

    def __init__(self, mesh: pausemesh.Mesh, errand: Errand) -> None:
        self._mesh = mesh
        self._errand = errand
        self._airline = Airline(Path(errand.airline))

    async def run(self) -> None:
        """Ask, wait, go on; or learn that somebody did."""
        await self._look()
        try:
            async with self._ask(PATIENCE) as turn:
                await self._go_on(turn)
        except pausemesh.ClaimDone as done:
            say(Step.ALREADY_DONE, code=done.code, result=done.result)
        except pausemesh.LeaseLost:
            return

    def _ask(self, timeout: timedelta) -> Any:
        errand = self._errand
        approved = errand.approved
        return self._mesh.ask(
            "Which flight shall I book?" if approved is None else "Shall I book this flight?",
            answer=Flight if approved is None else None,
            action=None if approved is None else {"name": EFFECT, "arguments": approved},
            key=f"{errand.trip}:flight",
            correlation_id=errand.trip,
            expires_in=timedelta(days=1),
            lease=timedelta(seconds=errand.lease_seconds),
            notify=self._notify,
            timeout=timeout,
        )

    async def _notify(self, created: pausemesh.CreatedContinuation) -> None:
        question = created.continuation
        say(Step.NOTIFIED, id=question.id, token=created.resume_token, envelope=text_of(question))

    async def _look(self) -> None:
        """Have the question asked, and see whether there is an answer yet."""
        try:
            await self._ask(timedelta(0))
        except pausemesh.WaitTimeout:
            answered = False
        else:
            answered = True
        page = await self._mesh.list(correlation_id=self._errand.trip)
        say(Step.ASKED, ids=[question.id for question in page.continuations], answered=answered)
        await _wait_to_be_told()

    async def _go_on(self, turn: pausemesh.Turn[Any]) -> None:
        await self._reach(Step.CLAIMED, fence=turn.fence, worker=turn.worker)
        if self._errand.approved is not None:
            await self._try_another_flight(turn)
        try:
            result = await self._book(turn)
            await self._reach(Step.RECORDED, result=result)
            await turn.done(result)
        except pausemesh.Conflict as lost:
            say(Step.REFUSED, what="outcome", code=lost.code)
            await self._insist(turn)
            raise
        say(Step.DONE, fence=turn.fence, result=result)

    async def _book(self, turn: pausemesh.Turn[Any]) -> Any:
        arguments = self._arguments(turn)
        try:
            return await turn.effect(EFFECT, arguments=arguments, run=self._call_the_airline)
        except pausemesh.EffectUnknown as unknown:
            say(Step.IN_DOUBT, code=unknown.code)
        await self._settle(turn)
        return await turn.effect(EFFECT, arguments=arguments, run=self._call_the_airline)

    async def _call_the_airline(self, flight: str, reference: str) -> dict[str, str]:
        await self._reach(Step.CALLING)
        booking = self._airline.book(reference=reference, flight=flight)
        await self._reach(Step.BOOKED, ticket=booking.ticket)
        return {"ticket": booking.ticket}

    async def _settle(self, turn: pausemesh.Turn[Any]) -> None:
        """Ask the airline, and tell the ledger what it says."""
        booked = self._airline.bookings(self._errand.trip)
        if booked:
            outcome, result = "done", {"ticket": booked[0].ticket}
            evidence = f"The airline has ticket {booked[0].ticket} under {self._errand.trip}."
        else:
            outcome, result = "not_done", None
            evidence = f"The airline has no booking under {self._errand.trip}."
        await turn.resolve(EFFECT, outcome, evidence=evidence, result=result)
        say(Step.SETTLED, outcome=outcome, evidence=evidence)

    async def _try_another_flight(self, turn: pausemesh.Turn[Any]) -> None:
        other = {**self._arguments(turn), "flight": "AZ999"}
        try:
            await turn.effect(EFFECT, arguments=other, run=self._call_the_airline)
        except pausemesh.ActionMismatch as mismatch:
            booked = len(self._airline.bookings(self._errand.trip))
            say(Step.REFUSED, what="arguments", code=mismatch.code, bookings=booked)

    async def _insist(self, turn: pausemesh.Turn[Any]) -> None:
        try:
            await turn.done({"ticket": "of a worker that was overtaken"})
        except pausemesh.Conflict as lost:
            say(Step.REFUSED, what="done", code=lost.code)

    def _arguments(self, turn: pausemesh.Turn[Any]) -> dict[str, Any]:
        if self._errand.approved is None:
            return {"flight": turn.answer.flight, "reference": self._errand.trip}
        return dict(reversed(self._errand.approved.items()))

    async def _reach(self, step: Step, **members: Any) -> None:
        say(step, **members)
        if step == self._errand.halt_at:
            await _wait_to_be_told()


async def _wait_to_be_told() -> None:
    if await hear() is None:
        raise SystemExit(1)


async def _main(errand: Errand) -> None:
    async with pausemesh.open(errand.url) as mesh:
        await Assistant(mesh, errand).run()


if __name__ == "__main__":
    try:
        asyncio.run(_main(Errand(**json.loads(sys.argv[1]))))
    except pausemesh.PauseMeshError as error:
        say(Step.FAILED, code=error.code, message=str(error))
        sys.exit(1)
