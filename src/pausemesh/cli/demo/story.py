"""The demo's course: an evening, a morning, a return, and a look back, each for all rounds."""

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh.cli.demo.evening import live_through_evening
from pausemesh.cli.demo.going_on import go_on, look_back
from pausemesh.cli.demo.morning import live_through_morning
from pausemesh.cli.demo.plans import PLANS
from pausemesh.cli.demo.processes import BrokenRoundError, Child, Children
from pausemesh.cli.demo.rounds import Round
from pausemesh.cli.demo.stage import DESKS, Progress, Stage, url_of

Act = Callable[[Round], Awaitable[Round]]

LONGEST_SECONDS: Final = 60.0
"""By then something hangs; it takes about ten seconds, and longer on a machine with much else to do."""
DATABASE: Final = "trips.db"
BOOK: Final = "airline.jsonl"


async def tell_story(folder: Path, *, seed: int, progress: Progress) -> tuple[Round, ...]:
    """Run all rounds in a folder; return what was seen, also of rounds that broke.

    Raises:
        TimeoutError: it took longer than a demo may.
    """
    database = folder / DATABASE
    async with (
        asyncio.timeout(LONGEST_SECONDS),
        Children() as children,
        pausemesh.open(url_of(database)) as mesh,
    ):
        stage = Stage(
            database=database,
            book=folder / BOOK,
            mesh=mesh,
            children=children,
            progress=progress,
            chance=random.Random(seed),  # noqa: S311 - shuffles the answers, and can be repeated
        )
        return await _play(stage)


async def _play(stage: Stage) -> tuple[Round, ...]:
    progress = stage.progress
    rounds = tuple(Round(plan=plan) for plan in PLANS)
    progress.begin("In the evening two assistants ask under the same key; both are killed while the question is open.")
    rounds = await _all_at_once(rounds, lambda one: _evening(stage, one))
    desks = await asyncio.gather(*(stage.desk(number) for number in range(1, DESKS + 1)))
    progress.begin("In the morning everybody answers at once.")
    rounds = tuple([await _unless_broken(lambda one: _morning(stage, desks, one), one) for one in rounds])
    progress.begin("The assistants are started again; one of them goes on.")
    rounds = await _all_at_once(rounds, lambda one: _return(stage, one))
    progress.begin("Afterwards.")
    return await _all_at_once(rounds, lambda one: _look_back(stage, one))


async def _all_at_once(rounds: tuple[Round, ...], act: Act) -> tuple[Round, ...]:
    return tuple(await asyncio.gather(*(_unless_broken(act, one) for one in rounds)))


async def _unless_broken(act: Act, one: Round) -> Round:
    if one.broken is not None:
        return one
    try:
        return await act(one)
    except (BrokenRoundError, pausemesh.PauseMeshError) as error:
        return dataclasses.replace(one, broken=str(error))


async def _evening(stage: Stage, one: Round) -> Round:
    return dataclasses.replace(one, evening=await live_through_evening(stage, one.plan))


async def _morning(stage: Stage, desks: list[Child], one: Round) -> Round:
    assert one.evening is not None, "it was lived through"
    return dataclasses.replace(one, morning=await live_through_morning(stage, one.plan, one.evening, desks))


async def _return(stage: Stage, one: Round) -> Round:
    return dataclasses.replace(one, going_on=await go_on(stage, one.plan))


async def _look_back(stage: Stage, one: Round) -> Round:
    assert one.evening is not None, "it was lived through"
    return dataclasses.replace(one, aftermath=await look_back(stage, one.plan, one.evening))
