"""Rounds of retries, each kind of call in each kind of trouble, compared byte for byte."""

import asyncio
import dataclasses
import functools
import random
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import Mesh, SqliteEventStore
from proofs.children import Family, Line, heard, in_lanes, one_from_each
from proofs.clocks import AheadClock
from proofs.places import folder_on_disk
from proofs.report import NONE, SOME, Report, at_least
from proofs.retries.calls import LIFE, PERSON, Call, make_all_at_once, make_each, prepare, shown

_CALLS_PER_ROUND: Final = 20
_RETRIES_PER_CALL: Final = 3
"""The fewest; a call that had no answer when its process was killed is made twice more."""

_SECONDS_BEFORE_KILL: Final = 0.25
_SITUATIONS: Final = {
    "by the same process": "in the same process",
    "by another process": "in another process, after kill -9 of the first",
    "under way": "while the first is under way, in two processes",
    "later": "after the claim was done and the deadline passed",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many retries at least."""

    rounds: int


QUICK: Final = Size(rounds=5_000)
SHORT: Final = Size(rounds=300)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Retry, and compare."""
    report = Report("retries", seed)
    rounds = -(-size.rounds // (_CALLS_PER_ROUND * _RETRIES_PER_CALL))
    found = in_lanes(lambda lane: _rounds_of_a_lane(f"{seed}-{lane}", range(lane, rounds, lanes)), lanes)
    counted: Counter[str] = Counter()
    for line in found:
        report.fail(line.pop("messages"))
        counted.update(line)
    promise = "a retry gets the first answer's bytes"
    report.count(promise, size.rounds, "retries", sum(counted[name] for name in _SITUATIONS), at_least(size.rounds))
    for name, description in _SITUATIONS.items():
        report.count(promise, size.rounds, f"of these {description}", counted[name], SOME)
    report.count(promise, size.rounds, "processes killed", counted["killed"], SOME)
    report.count(promise, size.rounds, "retries that differ", counted["differing"], NONE)
    report.count(promise, size.rounds, "calls that took place twice or never", counted["not once"], NONE)
    name = "control: a retry that is told the present state"
    report.count(name, size.rounds, "retries that differ", counted["present differs"], SOME)
    return report


def _rounds_of_a_lane(name: str, rounds: range) -> Line:
    with folder_on_disk() as folder:
        path = Path(folder) / "mesh.db"
        comparing = Comparing()
        for number in rounds:
            calls = asyncio.run(_prepare(path, f"{name}-{number}"))
            if number % 2:
                _race_twins(path, calls, comparing)
            else:
                _kill_one(path, calls, comparing, random.Random(f"{name}-{number}"))
            asyncio.run(_retry_later(path, calls, comparing))
    return {**comparing.counted, "messages": comparing.messages}


class Comparing:
    """Remembers the first answer to each call, and compares the others with it."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.messages: list[str] = []
        self._first: dict[Call, str] = {}
        self._took_place: defaultdict[Call, int] = defaultdict(int)

    def hear(self, call: Call, answer: tuple[str, bool], situation: str) -> None:
        """Take an answer in."""
        told, replayed = answer
        self._took_place[call] += not replayed
        if call not in self._first:
            self._first[call] = told
            return
        self.counted[situation] += 1
        if told != self._first[call]:
            self.counted["differing"] += 1
            self.messages.append(f"{call} {situation}: first {self._first[call]}, then {told}")

    def end(self, call: Call, *, unheard: bool) -> None:
        """Take it that all is said; ``unheard``: the answer that was no replay may have been lost in a kill."""
        if self._took_place[call] != 1 and not (unheard and self._took_place[call] == 0):
            self.counted["not once"] += 1
            self.messages.append(f"{call} took place {self._took_place[call]} times")

    def compare_present(self, call: Call, told: str) -> None:
        """Compare what is there now, as a wrong retry would."""
        self.counted["present differs"] += told != self._first[call]


async def _prepare(path: Path, name: str) -> list[Call]:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        calls = await prepare(mesh, name, _CALLS_PER_ROUND)
    await store.close()
    return calls


def _race_twins(path: Path, calls: list[Call], comparing: Comparing) -> None:
    """Let two processes make the same calls at the same time, each of them twice at once."""
    with Family() as family:
        work = functools.partial(make_all_at_once, path=path, calls=calls)
        twins = [family.fork(name, work) for name in ("twin", "other twin")]
        one_from_each(twins, "ready")
        for twin in twins:
            twin.tell(go=True)
        for line in one_from_each(twins, "answers"):
            for number, answer in enumerate(line["answers"]):
                comparing.hear(calls[number // 2], answer, "under way")
    for call in calls:
        comparing.end(call, unheard=False)


def _kill_one(path: Path, calls: list[Call], comparing: Comparing, choices: random.Random) -> None:
    """Kill a process while it calls and calls again, then make all of its calls twice from here."""
    said: list[Line] = []
    with Family() as family:
        victim = family.fork("victim", functools.partial(make_each, path=path, calls=calls))
        said += [line for _, line in heard([victim])]
        deadline = time.monotonic() + choices.uniform(0, _SECONDS_BEFORE_KILL)
        while (left := deadline - time.monotonic()) > 0:
            said += [line for _, line in heard([victim], left)]
        said += victim.kill()
    comparing.counted["killed"] += 1
    for line in said:
        comparing.hear(calls[line["call"]], line["answer"], "by the same process")
    answered = {line["call"] for line in said}
    asyncio.run(_retry_all(path, calls, comparing))
    for number, call in enumerate(calls):
        comparing.end(call, unheard=number not in answered)


async def _retry_all(path: Path, calls: list[Call], comparing: Comparing) -> None:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        for call in calls * 2:
            comparing.hear(call, await call.make(mesh), "by another process")
    await store.close()


async def _retry_later(path: Path, calls: list[Call], comparing: Comparing) -> None:
    """Go on with what was decided, let the deadlines pass, and retry once more."""
    clock = AheadClock()
    store = await SqliteEventStore.open(path, clock)
    async with pausemesh.open(store, clock=clock) as mesh:
        ids = {call: call.id or await _id_of(mesh, call) for call in calls}
        for call, noun_id in ids.items():
            await _go_on(mesh, call, noun_id)
        clock.ahead = 2 * LIFE
        for call, noun_id in ids.items():
            comparing.compare_present(call, shown(await mesh.inspect(noun_id)))
            comparing.hear(call, await call.make(mesh), "later")
    await store.close()


async def _id_of(mesh: Mesh, call: Call) -> str:
    created = await mesh.create(
        payload={"message": call.key}, correlation_id="trip", idempotency_key=call.key, expires_in=LIFE
    )
    assert created.replayed, "it was created before"
    return created.continuation.id


async def _go_on(mesh: Mesh, call: Call, noun_id: str) -> None:
    if call.kind == "create":
        await mesh.answer(noun_id, by=PERSON, idempotency_key="later", payload=True)
    if call.kind != "cancel":
        async with mesh.claim(noun_id) as turn:
            await turn.done("carried out")
