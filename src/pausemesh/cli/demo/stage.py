"""What all rounds share: the file, the airline, the processes, and where progress is told."""

import dataclasses
import json
import random
import time
from pathlib import Path
from typing import Final, Protocol

from pausemesh import Mesh
from pausemesh.cli.demo.airline import Airline
from pausemesh.cli.demo.assistant import Errand
from pausemesh.cli.demo.plans import Plan
from pausemesh.cli.demo.processes import Child, Children
from pausemesh.cli.demo.wire import Step

LEASE_SECONDS: Final = 1.0
DESKS: Final = 4


class Progress(Protocol):
    """Is told what happens, as it happens."""

    def begin(self, chapter: str) -> None:
        """Take note of a chapter that begins."""
        ...

    def tell(self, plan: Plan, news: str) -> None:
        """Take note of a step of a round."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The demo's world, for as long as it runs."""

    database: Path
    book: Path
    mesh: Mesh
    children: Children
    progress: Progress
    chance: random.Random

    @property
    def airline(self) -> Airline:
        """The airline, to be asked what it booked."""
        return Airline(self.book)

    async def assistant(self, plan: Plan, name: str, *, halts: bool = False) -> Child:
        """Start an assistant with the round's errand; ``halts``: it stands still where the plan says."""
        errand = Errand(
            url=url_of(self.database),
            airline=str(self.book),
            trip=plan.trip,
            lease_seconds=LEASE_SECONDS,
            approved={"flight": "AZ610", "reference": plan.trip} if plan.approval else None,
            halt_at=plan.halt_at if halts else None,
        )
        argument = json.dumps(dataclasses.asdict(errand))
        return await self.children.start("assistant", argument, name=f"{name} of round {plan.number}")

    async def desk(self, number: int) -> Child:
        """Start a desk, and wait until it can answer."""
        desk = await self.children.start("desk", url_of(self.database), name=f"desk {number}")
        await desk.until(Step.READY)
        return desk


def url_of(database: Path) -> str:
    """Return how a mesh on this file is opened."""
    return f"sqlite:///{database}"


def soon() -> float:
    """Return an instant (seconds of the epoch) that is near, and far enough for processes to hear of it."""
    return time.time() + 0.05
