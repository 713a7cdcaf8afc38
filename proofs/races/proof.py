"""Eight processes, one file, two scopes: all answer all questions; and the same on a store that compares nothing."""

import asyncio
import dataclasses
import functools
import random
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import CreatedContinuation, Mesh, SqliteEventStore
from proofs.children import Child, Family, Line, one_from_each
from proofs.places import folder_on_disk
from proofs.races.check import Judge
from proofs.races.racer import SCOPES, Batch, BlindStore, Question, WatchedStore, race
from proofs.report import NONE, SOME, Report, exactly
from proofs.stored_file import StoredFile

RACERS: Final = 8
_QUESTIONS_PER_BATCH: Final = 250


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many questions are raced for, and how many in the control."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=20_000, control=500)
SHORT: Final = Size(rounds=500, control=50)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Race, and look who won."""
    del lanes
    report = Report("races", seed)
    judge, refused = _race_all(report, size.rounds, WatchedStore)
    report.fail(judge.messages)
    promise, counted = "one answer counts", judge.counted
    report.count(promise, size.rounds, "races run", counted["races"], exactly(size.rounds))
    report.count(promise, size.rounds, "answers sent", counted["attempts"], exactly(size.rounds * RACERS))
    report.count(promise, size.rounds, "decided in the commit itself", refused, SOME)
    report.count(promise, size.rounds, "double winners", counted["double winners"], NONE)
    report.count(promise, size.rounds, "races without a winner", counted["no winner"], NONE)
    report.count(promise, size.rounds, "stored otherwise than told", counted["stored otherwise"], NONE)
    report.count("losers are told the outcome", size.rounds, "told otherwise", counted["losers told otherwise"], NONE)
    report.count("an exact repeat is no second answer", size.rounds, "differing", counted["repeats that differ"], NONE)
    report.count("scopes are apart", size.rounds, "tokens accepted elsewhere", counted["foreign tokens"], NONE)
    control, _ = _race_all(report, size.control, BlindStore)
    name = "control: a store that does not compare"
    report.count(name, size.control, "double winners", control.counted["double winners"], SOME)
    return report


def _race_all(report: Report, questions: int, store: type[WatchedStore]) -> tuple[Judge, int]:
    is_control = store is not WatchedStore
    with folder_on_disk() as folder, Family() as family:
        path = Path(folder) / "mesh.db"
        batches = asyncio.run(_batches(path, questions, random.Random(report.seed), all_warm=is_control))
        racers = [
            family.fork(f"racer {racer}", functools.partial(race, path=path, racer=racer, batches=batches, store=store))
            for racer in range(RACERS)
        ]
        found = [_race_for(racers, batch) for batch in batches]
        for racer in racers:
            racer.reap()
        stored = StoredFile(path)
    judge = Judge()
    if not is_control:
        report.fail(stored.flaws())
    for batch, (attempts, _) in zip(batches, found, strict=True):
        for question, attempts_at_it in zip(batch.questions, attempts, strict=True):
            judge.judge(question, attempts_at_it, stored)
    return judge, found[-1][1]


def _race_for(racers: list[Child], batch: Batch) -> tuple[list[list[Line]], int]:
    """Let all racers run at once; return the attempts by question, and the refusals of the stores so far."""
    one_from_each(racers, "ready")
    for racer in racers:
        racer.tell(go=True)
    attempts: list[list[Line]] = [[] for _ in batch.questions]
    lines = one_from_each(racers, "attempts")
    for line in lines:
        for attempt in line["attempts"]:
            attempts[attempt["question"]].append(attempt)
    return attempts, sum(line["refused"] for line in lines)


async def _batches(path: Path, questions: int, choices: random.Random, *, all_warm: bool) -> list[Batch]:
    """Ask all questions, each id in both scopes, and mix them."""
    asked: list[Question] = []
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store, scope=SCOPES[0]) as first, pausemesh.open(store, scope=SCOPES[1]) as second:
        for start in range(0, questions, 2 * _QUESTIONS_PER_BATCH):
            ids = [f"q-{number}" for number in range(start, min(start + 2 * _QUESTIONS_PER_BATCH, questions), 2)]
            pairs = await asyncio.gather(*[_pair(first, second, noun_id) for noun_id in ids])
            asked += [question for pair in pairs for question in pair]
    await store.close()
    asked = asked[:questions]
    choices.shuffle(asked)
    return [
        Batch(tuple(asked[first : first + _QUESTIONS_PER_BATCH]), warm=all_warm or bool(number % 2))
        for number, first in enumerate(range(0, questions, _QUESTIONS_PER_BATCH))
    ]


async def _pair(first: Mesh, second: Mesh, noun_id: str) -> list[Question]:
    created: list[CreatedContinuation] = [
        await mesh.create(payload={"id": noun_id}, continuation_id=noun_id) for mesh in (first, second)
    ]
    tokens = [one.resume_token or "" for one in created]
    return [Question(scope, noun_id, tokens[place], tokens[1 - place]) for place, scope in enumerate(SCOPES)]
