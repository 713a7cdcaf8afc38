"""Rounds of kills and cuts: servers come and go on one file and port, clients go on, and all is compared at the end."""

import asyncio
import contextlib
import dataclasses
import random
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import SqliteEventStore
from pausemesh.records import CrashPoint
from pausemesh.server.settings import Parser
from pausemesh.testing.faults import CrashAt
from proofs.children import Child, ChildError, Family, Line, heard, in_lanes, lines_of
from proofs.http.check import Findings, compare_at_end
from proofs.http.crowd import Crowd
from proofs.http.denying import DenyingStore
from proofs.http.places import Places, last_seq
from proofs.http.request import Keys, make_keys
from proofs.http.serving import FileService, Service, reserve_port
from proofs.http.told import Told
from proofs.kills.hasty import HastyStore
from proofs.places import folder_on_disk
from proofs.report import NONE, SOME, Report, at_least, exactly
from proofs.stored import Stored
from proofs.stored_file import StoredFile

_KILLS_PER_FILE: Final = 10
_CUTS_PER_FILE: Final = 500
_CUTS_OF_DENIER: Final = 40
_SECONDS_BEFORE_KILL: Final = 0.12
_SECONDS_OF_START: Final = 0.05
_SECONDS_TO_REACH_A_POINT: Final = 1.0
_PARSERS: Final[tuple[Parser, ...]] = ("httptools", "h11")
_SILENCE_SECONDS: Final = 60.0
_LATER: Final = timedelta(hours=1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many kills, how many cut requests, and how many kills, or forties of cuts, in each control."""

    rounds: int
    cuts: int
    control: int


QUICK: Final = Size(rounds=1_000, cuts=3_000, control=20)
SHORT: Final = Size(rounds=20, cuts=60, control=6)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one file goes through.

    Attributes:
        kind: under which its findings are counted.
        kills: how many servers are killed on it.
        cuts: how many requests are cut.
        store: the kind of store that its servers use.
    """

    name: str
    kind: str
    kills: int = 0
    cuts: int = 0
    store: type[SqliteEventStore] = SqliteEventStore


def run(size: Size, seed: int, lanes: int) -> Report:
    """Kill, cut, and compare."""
    report = Report("http", seed)
    plans = _plans(size, seed)
    counted: Counter[str] = Counter()
    for line in in_lanes(lambda lane: _files_of_a_lane(plans[lane::lanes]), lanes):
        report.fail(line.pop("messages"))
        counted.update(line)
    _count_kills(report, size, counted)
    _count_cuts(report, size, counted)
    report.count(
        "control: a store that answers before it writes",
        size.control,
        "acknowledged and lost",
        counted["hasty: lost"],
        SOME,
    )
    report.count("control: a store that denies what it did", size.control, "lies", counted["denying: lies"], SOME)
    return report


def _plans(size: Size, seed: int) -> list[Plan]:
    plans = [
        Plan(name=f"{seed}-{first}", kind="kill", kills=min(_KILLS_PER_FILE, size.rounds - first))
        for first in range(0, size.rounds, _KILLS_PER_FILE)
    ]
    plans += [
        Plan(name=f"{seed}-cut-{first}", kind="cut", cuts=min(_CUTS_PER_FILE, size.cuts - first))
        for first in range(0, size.cuts, _CUTS_PER_FILE)
    ]
    plans += [
        Plan(
            name=f"{seed}-hasty-{first}",
            kind="hasty",
            kills=min(_KILLS_PER_FILE, size.control - first),
            store=HastyStore,
        )
        for first in range(0, size.control, _KILLS_PER_FILE)
    ]
    plans.append(Plan(name=f"{seed}-denying", kind="denying", cuts=_CUTS_OF_DENIER * size.control, store=DenyingStore))
    return plans


def _files_of_a_lane(plans: list[Plan]) -> Line:
    counted: Counter[str] = Counter()
    messages: list[str] = []
    for plan in plans:
        findings = File(plan).live()
        counted.update({f"{plan.kind}: {name}": number for name, number in findings.counted.items()})
        if plan.store is SqliteEventStore:
            messages += [f"file {plan.name}: {message}" for message in findings.messages]
    return {**counted, "messages": messages}


class File:
    """One file, from its first server to its last."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._choices = random.Random(plan.name)
        self._said: list[Line] = []
        self._ends: list[int] = []
        self._killed = 0

    def live(self) -> Findings:
        """Let clients work on it while its servers are killed, or their answers cut; return what was found."""
        plan = self._plan
        with folder_on_disk() as folder, contextlib.closing(reserve_port()) as reserved, Family() as family:
            service = FileService(path=Path(folder) / "mesh.db", port=reserved.getsockname()[1], store=plan.store)
            keys = asyncio.run(_prepare(service.path))
            clients = Crowd(name=plan.name, port=service.port, keys=keys, cuts=plan.cuts)
            crowd = family.fork(f"clients of {plan.name}", clients)
            for life in range(1, plan.kills + 1):
                self._serve_and_kill(family, service, crowd)
                self._begin_life(life + 1, service, crowd)
            if plan.cuts:
                self._serve_cut(family, service, crowd)
                self._begin_life(2, service, crowd)
            last = family.fork("last server", dataclasses.replace(service, ahead=_LATER))
            crowd.tell(finish=True)
            self._said += lines_of(crowd)
            last.kill()
            return self._compare(StoredFile(service.path))

    def _serve_cut(self, family: Family, service: Service, crowd: Child) -> None:
        """Serve until as many requests were cut as the clients wanted."""
        server = family.fork(f"server of {self._plan.name}", service)
        while not any("lived" in line for line in self._hear([server, crowd])):
            pass
        server.kill()

    def _serve_and_kill(self, family: Family, service: FileService, crowd: Child) -> None:
        """Serve until an instant at random, at the start now and then, or until a named point inside of a commit."""
        way = self._choices.choices(["serving", "starting", "point"], [80, 8, 12])[0]
        service = dataclasses.replace(service, parser=self._choices.choice(_PARSERS))
        if way == "point":
            fault = CrashAt(self._choices.choice([*CrashPoint]), after=self._choices.randrange(8))
            service = dataclasses.replace(service, fault=fault)
        server = family.fork(f"server of {self._plan.name}", service)
        if way != "starting":
            self._listen_until_up(server, crowd)
        seconds = {
            "serving": self._choices.uniform(0, _SECONDS_BEFORE_KILL),
            "starting": self._choices.uniform(0, _SECONDS_OF_START),
            "point": _SECONDS_TO_REACH_A_POINT,
        }[way]
        deadline = time.monotonic() + seconds
        while not server.ended and (left := deadline - time.monotonic()) > 0:
            self._hear([server, crowd], left)
        server.kill()
        self._killed += 1

    def _listen_until_up(self, server: Child, crowd: Child) -> None:
        is_up = False
        while not is_up and not server.ended:
            is_up = any("up" in line for line in self._hear([server, crowd]))

    def _begin_life(self, life: int, service: FileService, crowd: Child) -> None:
        """Note where the log ends, and let the clients know of another server before there is one."""
        self._ends.append(last_seq(service.path))
        crowd.tell(life=life)
        while {"life": life} not in self._hear([crowd]):
            pass

    def _hear(self, children: list[Child], seconds: float = _SILENCE_SECONDS) -> list[Line]:
        """Keep what clients say, and return all that is said.

        Raises:
            ChildError: the clients ended, which they should not before the last server.
        """
        *_, crowd = children
        found = heard(children, seconds)
        self._said += [line for child, line in found if child is crowd]
        if crowd.ended:
            raise ChildError(f"{crowd.name} ended")
        return [line for _, line in found]

    def _compare(self, stored: Stored) -> Findings:
        told = Told(self._said)
        findings = compare_at_end(told, stored, Places(stored, self._ends))
        findings.counted["killed"] = self._killed
        findings.counted.update({f"cut {place}": number for place, number in told.cuts.items()})
        return findings


async def _prepare(path: Path) -> Keys:
    """Make the file, and the keys of those who will call."""
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    try:
        return await make_keys(store)
    finally:
        await store.close()


def _count_kills(report: Report, size: Size, counted: Counter[str]) -> None:
    rounds = size.rounds

    def count(promise: str, name: str, key: str, expected: object) -> None:
        report.count(promise, rounds, name, counted[f"kill: {key}"], expected)  # type: ignore[arg-type]

    promise = "what a client was told over HTTP survives kill -9 of the server"
    count(promise, "servers killed", "killed", exactly(rounds))
    count(promise, "requests made", "requests", SOME)
    count(promise, "of these acknowledged", "acknowledged", SOME)
    count(promise, "acknowledged and lost", "lost", NONE)
    count(promise, "refused without a reason", "astray", NONE)
    count("no client is told a lie", "requests unanswered", "unanswered", SOME)
    count("no client is told a lie", "of these had committed", "committed", SOME)
    count("no client is told a lie", "lies", "lies", NONE)
    count("a retry is told the first answer", "answers repeated", "retried answers", SOME)
    count("a retry is told the first answer", "differing", "differing", NONE)
    count("one answer counts, one runs", "questions decided twice", "second answers", NONE)
    count("one answer counts, one runs", "effects that two were told to run", "second starts", NONE)
    count("all is whole and nothing stuck", "files that are not whole", "not whole", NONE)
    count("all is whole and nothing stuck", "things stuck", "stuck", NONE)


def _count_cuts(report: Report, size: Size, counted: Counter[str]) -> None:
    promise = "never failed for what is done, never done for what is not"
    cuts = sum(number for key, number in counted.items() if key.startswith("cut: cut "))
    report.count(promise, size.cuts, "requests cut", cuts, at_least(size.cuts))
    for name, key in (
        ("before they were through", ("before", "half")),
        ("while worked on", ("working",)),
        ("in the answer", ("answering",)),
        ("after the answer", ("after",)),
    ):
        report.count(promise, size.cuts, f"cut {name}", sum(counted[f"cut: cut {one}"] for one in key), SOME)
    report.count(promise, size.cuts, "unanswered that had committed", counted["cut: committed"], SOME)
    report.count(promise, size.cuts, "acknowledged and not there", counted["cut: lost"], NONE)
    wrong = ("lies", "astray", "differing", "second answers", "second starts", "not whole", "stuck")
    for name in wrong:
        report.count(promise, size.cuts, name, counted[f"cut: {name}"], NONE)
