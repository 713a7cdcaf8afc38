"""Flushes are cut between the servers and PostgreSQL: before, meanwhile, after, and held; and all is compared."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pausemesh.postgres import PostgresEventStore
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from proofs.children import Family, Line, heard, in_lanes, one_from_each
from proofs.http.check import Findings, compare
from proofs.http.places import Places
from proofs.http.told import Told
from proofs.postgres.between import Between, through
from proofs.postgres.clients import Clients
from proofs.postgres.giving_up import GivingUpStore
from proofs.postgres.proxy import Fate
from proofs.postgres.replicas import Replicas, reserved_ports, services_on
from proofs.postgres.stored_schema import StoredSchema
from proofs.postgres.truths import count_truths
from proofs.report import NONE, SOME, Report, at_least

_CUTS_PER_SCHEMA: Final = 500
_CALL_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 0.2
_NOW_SECONDS: Final = 0.001
_HOW: Final = {
    Fate.CUT_BEFORE: "cut before they were through",
    Fate.CUT_MEANWHILE: "cut while worked on",
    Fate.CUT_AFTER: "cut after the commit",
    Fate.HOLD: "made, and never answered",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many flushes are cut, and how many of them under a store that sends nothing again."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=3_000, control=100)
SHORT: Final = Size(rounds=60, control=30)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the servers of one schema go through."""

    name: str
    cuts: int
    store: type[PostgresEventStore] = PostgresEventStore


def run(size: Size, seed: int, lanes: int) -> Report:
    """Cut, and compare."""
    report = Report("postgres-cuts", seed)
    plans = [
        Plan(name=f"{seed}-{first}", cuts=min(_CUTS_PER_SCHEMA, size.rounds - first))
        for first in range(0, size.rounds, _CUTS_PER_SCHEMA)
    ]
    plans.append(Plan(name=f"{seed}-giving-up", cuts=size.control, store=GivingUpStore))
    counted: Counter[str] = Counter()
    for line in in_lanes(lambda lane: _lane(plans[lane::lanes]), lanes):
        report.fail(line.pop("messages"))
        counted.update(line)
    _count(report, size, counted)
    name = "control: a store that takes what was cut for not done"
    report.count(name, size.control, "lies", counted["control: lies"], SOME)
    return report


def _lane(plans: Sequence[Plan]) -> Line:
    counted: Counter[str] = Counter()
    messages: list[str] = []
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        for plan in plans:
            is_control = plan.store is not PostgresEventStore
            findings = _cut(server, plan, is_control=is_control)
            prefix = "control: " if is_control else ""
            counted.update({f"{prefix}{name}": number for name, number in findings.counted.items()})
            messages += [] if is_control else [f"{plan.name}: {message}" for message in findings.messages]
    return {**counted, "messages": messages}


def _cut(server: PostgresServer, plan: Plan, *, is_control: bool) -> Findings:
    """Let clients work while flushes are cut, and compare."""
    with reserved_ports() as ports, Family() as family:
        between = family.fork("proxies", Between(server.port, proxies=len(ports), seed=plan.name, cuts=plan.cuts))
        [listening] = one_from_each([between], "ports")
        urls = [through(server, port) for port in listening["ports"]]
        services, keys = services_on(server, ports, urls, store=plan.store, call_seconds=_CALL_SECONDS)
        replicas = Replicas(family, services, Clients(name=plan.name, ports=ports, keys=keys))
        found: list[Line] = []
        while not found:
            replicas.hear_for(_LOOK_SECONDS)
            found = [line for _, line in heard([between], _NOW_SECONDS)]
        if is_control:
            replicas.kill()
            stored = StoredSchema(server, services[0].schema)
            return compare(Told(replicas.said), stored, Places(stored, []))
        replicas.calm()
        findings = replicas.findings(server)
    findings.counted.update(found[0]["cut"])
    return findings


def _count(report: Report, size: Size, counted: Counter[str]) -> None:
    promise = "never failed for what is done, never done for what is not"
    cuts = sum(counted[fate.name] for fate in _HOW)
    report.count(promise, size.rounds, "flushes cut", cuts, at_least(size.rounds))
    for fate, name in _HOW.items():
        report.count(promise, size.rounds, name, counted[fate.name], SOME)
    report.count(promise, size.rounds, "requests made", counted["requests"], SOME)
    report.count(promise, size.rounds, "of these acknowledged", counted["acknowledged"], SOME)
    report.count(promise, size.rounds, "acknowledged and not there", counted["lost"], NONE)
    report.count(promise, size.rounds, "in doubt, and settled by the same request", counted["settled"], SOME)
    count_truths(report, size.rounds, counted)
