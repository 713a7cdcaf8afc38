"""In the evening two assistants ask the same question, and both are killed while it is open."""

import asyncio
import dataclasses
from typing import Final

from pausemesh import PauseMeshError
from pausemesh.cli.demo.envelopes import text_of
from pausemesh.cli.demo.plans import Plan
from pausemesh.cli.demo.processes import Child
from pausemesh.cli.demo.stage import Stage
from pausemesh.cli.demo.wire import Step

ACCEPTED: Final = "accepted"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evening:
    """What was seen.

    Attributes:
        question: the question's id.
        found: all ids that the assistants found under the trip.
        notified: how often anybody was notified.
        ends: how the assistants ended; minus 9 where they were killed.
        unchanged: whether the question was the same afterwards, byte for byte.
        probe: the code that the token got with an answer of the wrong shape.
        token: opens the question.
        shown_digest: of what a person is shown.
    """

    question: str
    found: frozenset[str]
    notified: int
    ends: tuple[int, ...]
    unchanged: bool
    probe: str
    token: str = dataclasses.field(repr=False)
    shown_digest: str


async def live_through_evening(stage: Stage, plan: Plan) -> Evening:
    """Have the question asked twice, kill both who ask, and look at what is left."""
    pair = await asyncio.gather(*(stage.assistant(plan, name) for name in ("assistant", "twin")))
    asked = await asyncio.gather(*(child.until(Step.ASKED) for child in pair))
    found = frozenset(question for line in asked for question in line["ids"])
    notices = [line for child in pair for line in child.said if line["step"] == Step.NOTIFIED]
    question = notices[0]["id"]
    stage.progress.tell(
        plan,
        f"processes {pair[0].pid} and {pair[1].pid} ask under one key: {count_of(len(found), 'question')}, "
        f"{short(question)}, {count_of(len(notices), 'notice')}",
    )
    ends = await _kill_while_they_wait(pair)
    token = notices[0]["token"]
    left = await stage.mesh.inspect(question)
    probe = await _probe(stage, question, token)
    again = await stage.mesh.inspect(question)
    unchanged = text_of(left) == text_of(again) == notices[0]["envelope"]
    stage.progress.tell(
        plan,
        f"both killed with -9; the question is {'as it was' if unchanged else 'CHANGED'}, "
        f"its token still fits: nonsense gets {probe}",
    )
    return Evening(
        question=question,
        found=found,
        notified=len(notices),
        ends=ends,
        unchanged=unchanged,
        probe=probe,
        token=token,
        shown_digest=left.shown_digest,
    )


def short(question: str) -> str:
    """Return as much of an id as tells it from the others."""
    return f"{question[:9]}…"


def count_of(number: int, noun: str) -> str:
    """Return how many there are, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


async def _kill_while_they_wait(pair: list[Child]) -> tuple[int, ...]:
    for child in pair:
        child.tell()
    return tuple(await asyncio.gather(*(child.kill() for child in pair)))


async def _probe(stage: Stage, question: str, token: str) -> str:
    """Answer with the right token and nonsense: the token is judged first, and nothing is consumed."""
    try:
        await stage.mesh.resume(question, token=token, idempotency_key="probe", payload="nonsense")
    except PauseMeshError as error:
        return error.code
    return ACCEPTED
