"""Failovers: the primary is killed under load, its synchronous standby takes over, and the same servers go on."""

import dataclasses
import random
import time
from collections import Counter
from contextlib import ExitStack
from typing import Final, Self

from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from proofs.children import Child, ChildError, Family, one_from_each
from proofs.http.check import Findings, compare
from proofs.http.places import Places
from proofs.http.told import Told
from proofs.postgres.between import Between, through
from proofs.postgres.clients import Clients
from proofs.postgres.replicas import Replicas, is_granted, reserved_ports, services_on
from proofs.postgres.stored_schema import StoredSchema
from proofs.postgres.truths import count_truths, some_in_many
from proofs.report import NONE, SOME, Expected, Report, exactly

_STANDBY: Final = "standby"
_SYNCHRONOUS: Final = {
    "synchronous_standby_names": _STANDBY,
    "synchronous_commit": "on",
    # A commit that waited for any standby to come is told of it by the next report of the one that came.
    "wal_receiver_status_interval": "1s",
}
_IS_IN_STEP: Final = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '{}'"
_SECONDS_TO_FOLLOW: Final = 60
_LOOK_SECONDS: Final = 0.05
_CALL_SECONDS: Final = 2.0
_SECONDS_BEFORE_KILL: Final = 0.5
_ANSWERS_WHILE_BEHIND: Final = 50
_SLOWEST_MS: Final = Expected(least=0, most=10_000)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many failovers, and how many to a standby that is behind."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=10, control=2)
SHORT: Final = Size(rounds=1, control=1)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Fail over, and compare."""
    del lanes
    report = Report("postgres-standby", seed)
    failing = _FailingOver(f"{seed}", size.rounds)
    findings = failing.live()
    report.fail(findings.messages)
    _count(report, size, findings.counted, failing.slowest)
    lost = sum(_lost_by_behind(f"{seed}-behind-{number}") for number in range(size.control))
    report.count("control: a standby that is behind", size.control, "acknowledged and lost", lost, SOME)
    return report


class Pair:
    """A primary and the standby that follows it, at one address.

    Args:
        stack: ends both.
        settings: of both.
        state: in which the primary has the standby when it is in step: sync or async.
    """

    def __init__(self, stack: ExitStack, settings: dict[str, str], state: str) -> None:
        self._stack = stack
        self._state = state
        start = PostgresServer.start(binaries=binaries_for_tests(), durable=True, settings=settings)
        self.primary = stack.enter_context(start)
        self.standby = stack.enter_context(self.primary.standby(_STANDBY))

    def wait_until_in_step(self) -> Self:
        """Return when the standby has all and gets what comes.

        Raises:
            ChildError: it did not get that far.
        """
        deadline = time.monotonic() + _SECONDS_TO_FOLLOW
        while self.primary.execute(_IS_IN_STEP.format(self._state)) != [(1,)]:
            if time.monotonic() > deadline:
                raise ChildError(f"the standby is not {self._state}")
            time.sleep(_LOOK_SECONDS)
        return self

    def promote(self, between: Child) -> None:
        """Let the standby take over from a primary that was killed, at the same address."""
        self.standby.promote()
        between.tell(upstream=self.standby.port)
        self.primary.close()
        self.primary = self.standby

    def follow(self) -> None:
        """Make another standby."""
        self.standby = self._stack.enter_context(self.primary.standby(_STANDBY))


class _FailingOver:
    """One schema that goes from server to server.

    Attributes:
        slowest: in milliseconds.
    """

    def __init__(self, name: str, failovers: int) -> None:
        self.slowest: Counter[str] = Counter()
        self._name = name
        self._failovers = failovers
        self._choices = random.Random(name)
        self._began = 0.0

    def live(self) -> Findings:
        """Fail over so often while clients work, and compare."""
        with ExitStack() as stack:
            pair = Pair(stack, _SYNCHRONOUS, "sync").wait_until_in_step()
            ports, family = stack.enter_context(reserved_ports()), stack.enter_context(Family())
            between = family.fork("proxies", Between(pair.primary.port, proxies=len(ports)))
            urls = [through(pair.primary, port) for port in one_from_each([between], "ports")[0]["ports"]]
            services, keys = services_on(pair.primary, ports, urls, call_seconds=_CALL_SECONDS)
            replicas = Replicas(family, services, Clients(name=self._name, ports=ports, keys=keys))
            replicas.hear_until(_is_woken)
            for _ in range(self._failovers):
                replicas.hear_for(self._choices.uniform(0, _SECONDS_BEFORE_KILL))
                self._fail_over(pair, between, replicas)
            processed = replicas.calm()
            self._note("until all pending was answered")
            findings = replicas.findings(pair.primary)
        findings.counted.update(promoted=self._failovers, processed=processed)
        return findings

    def _fail_over(self, pair: Pair, between: Child, replicas: Replicas) -> None:
        pair.primary.kill()
        pair.promote(between)
        pair.follow()
        pair.wait_until_in_step()
        self._began = time.monotonic()
        replicas.hear_all_there_is()
        replicas.hear_until(is_granted)
        self._note("until requests were granted again")
        replicas.hear_until(lambda line: "waiting" in line)
        replicas.hear_until(_is_woken)
        self._note("until who waits for an answer was told of one")

    def _note(self, name: str) -> None:
        self.slowest |= Counter({name: int((time.monotonic() - self._began) * 1000)})


def _is_woken(line: dict[str, object]) -> bool:
    return "woken" in line


def _lost_by_behind(name: str) -> int:
    """Fail over to a standby that was away, and that nobody waited for; return how much was lost."""
    with ExitStack() as stack:
        pair = Pair(stack, {}, "async").wait_until_in_step()
        ports, family = stack.enter_context(reserved_ports()), stack.enter_context(Family())
        services, keys = services_on(pair.primary, ports)
        replicas = Replicas(family, services, Clients(name=name, ports=ports, keys=keys))
        replicas.hear_until(is_granted)
        pair.standby.kill()
        granted = 0
        while granted < _ANSWERS_WHILE_BEHIND:
            granted += sum(is_granted(line) for line in replicas.hear(_SECONDS_TO_FOLLOW))
        pair.primary.kill()
        replicas.kill()
        pair.standby.start_again()
        pair.standby.promote()
        stored = StoredSchema(pair.standby, services[0].schema)
    return compare(Told(replicas.said), stored, Places(stored, [])).counted["lost"]


def _count(report: Report, size: Size, counted: Counter[str], slowest: Counter[str]) -> None:
    promise = "what a client was told survives the primary"
    report.count(promise, size.rounds, "standbys promoted", counted["promoted"], exactly(size.rounds))
    report.count(promise, size.rounds, "requests made", counted["requests"], SOME)
    report.count(promise, size.rounds, "of these acknowledged", counted["acknowledged"], SOME)
    report.count(promise, size.rounds, "acknowledged and lost", counted["lost"], NONE)
    count_truths(report, size.rounds, counted)
    promise = "the same servers go on once there is a standby again"
    report.count(
        promise, size.rounds, "pending at the end, and answered", counted["processed"], some_in_many(size.rounds)
    )
    for name, milliseconds in slowest.items():
        report.count(promise, size.rounds, f"slowest, ms {name}", milliseconds, _SLOWEST_MS)
