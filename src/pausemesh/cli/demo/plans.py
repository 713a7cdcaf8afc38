"""The rounds of the demo: what happens to whoever goes on first, and what must come of it."""

import dataclasses
import enum
from typing import Final

from pausemesh.cli.demo.wire import Step


class Fate(enum.StrEnum):
    """What becomes of the first holder of the claim."""

    KILLED = "killed"
    STOPPED = "stopped"
    FINISHES = "finishes"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One round.

    Attributes:
        number: from 1.
        title: what the round shows.
        fate: of the first holder.
        halt_at: the step at which it meets its fate.
        settled: what evidence makes of an effect that is in doubt; None: nothing is in doubt.
        starts: how often the ledger has the booking started in the end.
        approval: whether a booking is approved instead of a flight asked for.
    """

    number: int
    title: str
    fate: Fate
    halt_at: Step | None = None
    settled: str | None = None
    starts: int = 1
    approval: bool = False

    @property
    def trip(self) -> str:
        """The customer's reference: it begins the question's key, and the airline books under it."""
        return f"trip-{self.number}"


PLANS: Final = (
    Plan(number=1, title="killed before the booking", fate=Fate.KILLED, halt_at=Step.CLAIMED),
    Plan(
        number=2,
        title="killed inside the booking, before the airline had it",
        fate=Fate.KILLED,
        halt_at=Step.CALLING,
        settled="not_done",
        starts=2,
    ),
    Plan(
        number=3,
        title="killed inside the booking, after the airline had it",
        fate=Fate.KILLED,
        halt_at=Step.BOOKED,
        settled="done",
    ),
    Plan(number=4, title="killed after the booking", fate=Fate.KILLED, halt_at=Step.RECORDED),
    Plan(
        number=5,
        title="stopped inside the booking, woken up too late",
        fate=Fate.STOPPED,
        halt_at=Step.BOOKED,
        settled="done",
    ),
    Plan(number=6, title="approved, and tried with another flight first", fate=Fate.FINISHES, approval=True),
)
