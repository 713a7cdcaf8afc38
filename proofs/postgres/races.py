"""Two servers on one database, and clients that race for each question through both."""

import dataclasses
from collections import Counter
from typing import Final

from pausemesh.postgres import PostgresEventStore
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from proofs.children import Family
from proofs.http.check import compare
from proofs.http.places import Places
from proofs.http.told import Told
from proofs.postgres.blind import BlindSchemaStore
from proofs.postgres.judge import Judged, judge
from proofs.postgres.racing import RIVALS, Racing
from proofs.postgres.replicas import Replicas, reserved_ports, services_on
from proofs.postgres.stored_schema import StoredSchema
from proofs.report import NONE, SOME, Report, exactly

_RACES_PER_SCHEMA: Final = 2_500


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many questions are raced for, and how many in the control."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=20_000, control=200)
SHORT: Final = Size(rounds=300, control=40)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Race, and look who won."""
    del lanes
    report = Report("postgres-races", seed)
    counted: Counter[str] = Counter()
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        for first in range(0, size.rounds, _RACES_PER_SCHEMA):
            judged = _race(server, f"{seed}-{first}", min(_RACES_PER_SCHEMA, size.rounds - first))
            report.fail(judged.messages)
            counted.update(judged.counted)
        control = _race(server, f"{seed}-blind", size.control, BlindSchemaStore).counted
    _count(report, size.rounds, counted)
    name = "control: a store that does not compare"
    report.count(name, size.control, "double winners", control["double winners"], SOME)
    return report


def _race(
    server: PostgresServer, name: str, races: int, store: type[PostgresEventStore] = PostgresEventStore
) -> Judged:
    """Run races on a schema of their own."""
    with reserved_ports() as ports, Family() as family:
        services, keys = services_on(server, ports, store=store)
        replicas = Replicas(family, services, Racing(name=name, ports=ports, keys=keys, races=races))
        replicas.hear_until(lambda line: "raced" in line, 3_600)
        replicas.kill()
    told = Told(replicas.said)
    if store is not PostgresEventStore:
        return judge(told, None)
    stored = StoredSchema(server, services[0].schema)
    judged, findings = judge(told, stored), compare(told, stored, Places(stored, []))
    judged.counted.update({f"told: {kind}": number for kind, number in findings.counted.items()})
    judged.messages.extend(findings.messages)
    judged.add("not whole", iter(stored.flaws()))
    return judged


def _count(report: Report, rounds: int, counted: Counter[str]) -> None:
    promise = "one answer counts, through whichever server"
    report.count(promise, rounds, "races run", counted["races"], exactly(rounds))
    report.count(promise, rounds, "attempts made", counted["attempts"], exactly(rounds * RIVALS))
    for do, name in (("resume", "with the token"), ("answer", "by an operator"), ("cancel", "by a cancellation")):
        report.count(promise, rounds, f"won {name}", counted[f"won by {do}"], SOME)
    report.count(promise, rounds, "double winners", counted["double winners"], NONE)
    report.count(promise, rounds, "races without a winner", counted["no winner"], NONE)
    report.count(promise, rounds, "stored otherwise than told", counted["stored otherwise"], NONE)
    report.count(promise, rounds, "streams that are not whole", counted["not whole"], NONE)
    report.count("losers are told the outcome", rounds, "told otherwise", counted["losers told otherwise"], NONE)
    promise = "a repeat through any server is told the first answer"
    report.count(promise, rounds, "answers repeated", counted["told: retried answers"], SOME)
    report.count(promise, rounds, "differing", counted["repeats that differ"], NONE)
    report.count(promise, rounds, "differing creations", counted["told: differing"], NONE)
    promise = "no client is told a lie"
    report.count(promise, rounds, "acknowledged and lost", counted["told: lost"], NONE)
    report.count(promise, rounds, "lies", counted["told: lies"], NONE)
    report.count(promise, rounds, "refused without a reason", counted["told: astray"], NONE)
