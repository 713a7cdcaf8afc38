"""Rounds of kills: PostgreSQL is killed with -9 and started again, the same servers go on, and all is compared."""

import dataclasses
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from proofs.children import Family, Line, in_lanes
from proofs.http.check import compare
from proofs.http.places import Places
from proofs.http.told import Told
from proofs.postgres.clients import Clients
from proofs.postgres.replicas import Replicas, is_granted, reserved_ports, services_on
from proofs.postgres.stored_schema import StoredSchema
from proofs.postgres.truths import count_truths, some_in_many
from proofs.report import NONE, SOME, Expected, Report, exactly

_KILLS_PER_SCHEMA: Final = 25
_SECONDS_BEFORE_KILL: Final = 0.5
_ANSWERS_BEFORE_KILL: Final = 100
_SLOWEST_MS: Final = Expected(least=0, most=10_000)
_HASTY: Final = {"synchronous_commit": "off", "wal_writer_delay": "10s"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many kills, and how many of a server that does not wait for its disk."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=200, control=5)
SHORT: Final = Size(rounds=3, control=1)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Kill, and compare."""
    report = Report("postgres-kills", seed)
    plans = [
        (f"{seed}-{first}", min(_KILLS_PER_SCHEMA, size.rounds - first))
        for first in range(0, size.rounds, _KILLS_PER_SCHEMA)
    ]
    counted: Counter[str] = Counter()
    slowest: Counter[str] = Counter()
    for line in in_lanes(lambda lane: _lane(plans[lane::lanes]), min(lanes, len(plans))):
        report.fail(line.pop("messages"))
        slowest |= Counter(line.pop("slowest"))
        counted.update(line)
    _count(report, size, counted, slowest)
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True, settings=_HASTY) as server:
        lost = sum(_lost_by_hasty(server, f"{seed}-hasty-{number}") for number in range(size.control))
    report.count("control: synchronous_commit = off", size.control, "acknowledged and lost", lost, SOME)
    return report


def _lane(plans: Sequence[tuple[str, int]]) -> Line:
    counted: Counter[str] = Counter()
    slowest: Counter[str] = Counter()
    messages: list[str] = []
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        for name, kills in plans:
            one = _Killing(server, name)
            one.live(kills)
            counted.update(one.counted)
            slowest |= one.slowest
            messages += [f"{name}: {message}" for message in one.messages]
    return {**counted, "slowest": dict(slowest), "messages": messages}


class _Killing:
    """One schema, from its first kill to its end.

    Attributes:
        counted: what was found.
        slowest: in milliseconds, until requests were granted again, and until all that was pending was answered.
        messages: about what should not be.
    """

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.counted: Counter[str] = Counter()
        self.slowest: Counter[str] = Counter()
        self.messages: list[str] = []
        self._server = server
        self._name = name
        self._choices = random.Random(name)
        self._started = 0.0

    def live(self, kills: int) -> None:
        """Kill so often while clients work, and compare."""
        with reserved_ports() as ports, Family() as family:
            services, keys = services_on(self._server, ports)
            replicas = Replicas(family, services, Clients(name=self._name, ports=ports, keys=keys))
            replicas.hear_until(is_granted)
            for _ in range(kills):
                replicas.hear_for(self._choices.uniform(0, _SECONDS_BEFORE_KILL))
                self._kill(replicas)
            processed = replicas.calm()
            self._note("until all pending was answered", time.monotonic() - self._started)
            findings = replicas.findings(self._server)
        self.counted.update(findings.counted)
        self.counted.update(killed=kills, processed=processed)
        self.messages += findings.messages

    def _kill(self, replicas: Replicas) -> None:
        self._server.kill()
        self._server.start_again()
        self._started = time.monotonic()
        replicas.hear_all_there_is()
        replicas.hear_until(is_granted)
        self._note("until requests were granted again", time.monotonic() - self._started)

    def _note(self, name: str, seconds: float) -> None:
        self.slowest |= Counter({name: int(seconds * 1000)})


def _lost_by_hasty(server: PostgresServer, name: str) -> int:
    """Kill a server that says that all is durable before it is; return how much was lost of what was acknowledged."""
    with reserved_ports() as ports, Family() as family:
        services, keys = services_on(server, ports)
        server.execute("CHECKPOINT")
        replicas = Replicas(family, services, Clients(name=name, ports=ports, keys=keys))
        granted = 0
        while granted < _ANSWERS_BEFORE_KILL:
            granted += sum(is_granted(line) for line in replicas.hear(60))
        server.kill()
        replicas.kill()
    server.start_again()
    stored = StoredSchema(server, services[0].schema)
    return compare(Told(replicas.said), stored, Places(stored, [])).counted["lost"]


def _count(report: Report, size: Size, counted: Counter[str], slowest: Counter[str]) -> None:
    def count(promise: str, name: str, key: str, expected: Expected) -> None:
        report.count(promise, size.rounds, name, counted[key], expected)

    promise = "what a client was told survives kill -9 of PostgreSQL"
    count(promise, "times that it was killed", "killed", exactly(size.rounds))
    count(promise, "requests made", "requests", SOME)
    count(promise, "of these acknowledged", "acknowledged", SOME)
    count(promise, "acknowledged and lost", "lost", NONE)
    count_truths(report, size.rounds, counted)
    promise = "the same servers go on"
    count(promise, "pending at the end of a schema, and answered", "processed", some_in_many(size.rounds))
    for name in ("until requests were granted again", "until all pending was answered"):
        report.count(promise, size.rounds, f"slowest, ms {name}", slowest[name], _SLOWEST_MS)
