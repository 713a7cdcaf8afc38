"""Workers race for claims; and the same on a store that gives away what others hold, which must be caught."""

import asyncio
import dataclasses
import random
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import Mesh, SqliteEventStore
from proofs.children import Family
from proofs.claims.check import Checked, check
from proofs.claims.journal import GenerousStore, Journal, JournalledStore
from proofs.claims.shift import Shift
from proofs.claims.worker import FILE, LEASES, QUEUE, RUNS, Job, runs_by_id
from proofs.places import folder_on_disk
from proofs.report import ANY, NONE, SOME, Report, at_least, exactly
from proofs.stored import Stored
from proofs.stored_file import StoredFile

_ASKED_AT_ONCE: Final = 500
_PERSON: Final = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many claims, how many of their holders are killed and stopped at most, and how many in the control."""

    rounds: int
    kills: int
    stops: int
    control: int


QUICK: Final = Size(rounds=20_000, kills=300, stops=40, control=500)
SHORT: Final = Size(rounds=300, kills=10, stops=5, control=40)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Go on, be killed, be stopped, and see who recorded what."""
    del lanes
    report = Report("claims", seed)
    shift, checked, stored = _work_all(report, size, JournalledStore)
    report.fail([*checked.twice_at_once, *checked.fences, *checked.stale, *checked.runs, *stored.flaws()])
    rounds, counted = size.rounds, shift.counted
    promise = "one worker goes on"
    done = sum(stream.head is not None and stream.head.done_at is not None for stream in stored.streams.values())
    report.count(promise, rounds, "claims done", done, exactly(rounds))
    report.count(promise, rounds, "holders killed", counted["killed"], at_least(size.kills // 2))
    report.count(promise, rounds, "holders stopped past their lease", counted["stopped"], SOME)
    report.count(promise, rounds, "claims passed on to another holder", checked.passed_on, SOME)
    report.count(promise, rounds, "refused because another one held it", counted["refused CLAIM_HELD"], SOME)
    report.count(promise, rounds, "went on twice without a lapsed lease", len(checked.twice_at_once), NONE)
    report.count("fences grow", rounds, "fences repeated or out of order", len(checked.fences), NONE)
    report.count("a stale holder records nothing", rounds, "stale holders refused", counted["lost"], SOME)
    report.count("a stale holder records nothing", rounds, "records under a stale fence", len(checked.stale), NONE)
    report.count("an effect runs once", rounds, "in doubt and settled by evidence", counted["doubt"], SOME)
    report.count("an effect runs once", rounds, "ran again, found not to have run", checked.ran_again, ANY)
    report.count("an effect runs once", rounds, "ran again without evidence", len(checked.runs), NONE)
    control = dataclasses.replace(size, rounds=size.control, kills=0, stops=0)
    _, checked, _ = _work_all(report, control, GenerousStore)
    name = "control: a store that gives away what is held"
    report.count(name, size.control, "went on twice without a lapsed lease", len(checked.twice_at_once), SOME)
    return report


def _work_all(report: Report, size: Size, store: type[JournalledStore]) -> tuple[Shift, Checked, Stored]:
    choices = random.Random(report.seed)
    with folder_on_disk() as name, Family() as family:
        folder = Path(name)
        ids = asyncio.run(_decided(folder, size.rounds))
        job = _control_job(folder, ids) if store is GenerousStore else _job(folder, ids)
        shift = Shift(family, job, size.rounds, choices)
        shift.run(_troubles(size, choices))
        leases = Journal(folder / LEASES).entries()
        runs = runs_by_id(Journal(folder / RUNS))
        stored = StoredFile(folder / FILE)
    return shift, check(leases, runs, stored), stored


def _job(folder: Path, ids: list[str]) -> Job:
    """Have most of the claims taken from the queue; the last fifth of it is raced for by id meanwhile."""
    return Job(folder=folder, contested=ids[len(ids) * 4 // 5 :], from_the_queue=6, store=JournalledStore)


def _control_job(folder: Path, ids: list[str]) -> Job:
    return Job(folder=folder, contested=ids, from_the_queue=1, store=GenerousStore)


def _troubles(size: Size, choices: random.Random) -> list[tuple[int, str]]:
    """Spread the kills and stops over the shift, but for its last part."""
    last = size.rounds * 9 // 10
    whats = ["kill"] * size.kills + ["stop"] * size.stops
    return [(choices.randrange(last), what) for what in whats]


async def _decided(folder: Path, questions: int) -> list[str]:
    """Ask so many questions and answer them; return their ids."""
    ids = [f"q-{number}" for number in range(questions)]
    store = await SqliteEventStore.open(folder / FILE, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        for first in range(0, questions, _ASKED_AT_ONCE):
            await asyncio.gather(*[_decide(mesh, noun_id) for noun_id in ids[first : first + _ASKED_AT_ONCE]])
    await store.close()
    return ids


async def _decide(mesh: Mesh, noun_id: str) -> None:
    await mesh.create(payload={"id": noun_id}, continuation_id=noun_id, queue=QUEUE)
    await mesh.answer(noun_id, by=_PERSON, idempotency_key="answer", payload=True)
