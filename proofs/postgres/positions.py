"""Several stores append, two readers follow: what they saw is held against the log, its order against the commits."""

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from pausemesh.testing.postgres import PostgresServer, binaries_for_tests
from pausemesh.testing.postgres_address import PostgresAddress
from proofs.children import Family, Line, heard, one_from_each
from proofs.postgres.following import Following
from proofs.postgres.serving import prepare
from proofs.postgres.writing import Writing
from proofs.report import NONE, SOME, Report, exactly

_WRITERS: Final = 3
_SILENCE_SECONDS: Final = 600.0
_UNLOCKED: Final = """CREATE OR REPLACE FUNCTION "{}".take_turn_1(patience text) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN RETURN set_config('lock_timeout', patience, true) IS NOT NULL; END $$"""
_EVENTS: Final = 'SELECT seq, id FROM "{}".events ORDER BY seq'


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many calls are made, and how many of them without the order lock."""

    rounds: int
    control: int


QUICK: Final = Size(rounds=30_000, control=3_000)
SHORT: Final = Size(rounds=1_500, control=600)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Append, follow, and compare."""
    del lanes
    report = Report("postgres-positions", seed)
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        seen = _follow(server, "positions", f"{seed}", size.rounds)
        control = _follow(server, "unlocked", f"{seed}-unlocked", size.control, is_locked=False)
    report.fail(seen.messages)
    _count(report, size.rounds, seen.counted)
    wrong = sum(control.counted[name] for name in (*_WRONG, "failed"))
    name = "control: without the order lock"
    report.count(name, size.control, "calls that fail, events missed or out of order", wrong, SOME)
    return report


def _follow(server: PostgresServer, schema: str, name: str, calls: int, *, is_locked: bool = True) -> "_Seen":
    """Let stores append to a schema while readers follow."""
    asyncio.run(prepare(server.url, schema))
    if not is_locked:
        server.execute(_UNLOCKED.format(schema))
    with Family() as family:
        follower = family.fork("readers", Following(url=server.url, schema=schema))
        one_from_each([follower], "follows")
        writers = [
            family.fork(
                f"writer {number}",
                Writing(name=f"{name}-{number}", url=server.url, schema=schema, calls=calls // _WRITERS),
            )
            for number in range(_WRITERS)
        ]
        made = [call for line in one_from_each(writers, "made") for call in line["made"]]
        log = _log(server, schema)
        follower.tell(end=log[-1][0])
        [(_, followed), *_] = heard([follower], _SILENCE_SECONDS)
    return _Seen(log, made, followed)


def _log(server: PostgresAddress, schema: str) -> list[tuple[int, str]]:
    return [(seq, event_id.hex) for seq, event_id in server.execute(_EVENTS.format(schema))]


class _Seen:
    """What the writers were told and the readers saw, compared with the log.

    Attributes:
        counted: by name.
        messages: about what should not be.
    """

    def __init__(self, log: list[tuple[int, str]], made: list[dict[str, Any]], followed: Line) -> None:
        self.counted: Counter[str] = Counter()
        self.messages: list[str] = []
        self.counted.update(events=len(log), calls=len(made))
        self.counted["refused"] = sum(call["why"] == "refused" for call in made)
        self.counted["several"] = sum(call["seq"] is not None and len(call["ids"]) > 1 for call in made)
        failed = [call["why"] for call in made if call["why"] not in {"", "refused"}]
        self._add("failed", iter(failed))
        self._add("gaps", (f"{seq}" for place, (seq, _) in enumerate(log, start=1) if seq != place))
        stored = {event_id for _, event_id in log}
        self._add("stored otherwise", _stored_otherwise(made, stored))
        self._add("out of order", _out_of_order(made))
        for reader in ("asking", "woken"):
            seen = [(seq, event_id) for seq, event_id in followed[reader]]
            self._add("missed", (f"{reader}: {one}" for one in sorted(set(log) - set(seen))))
            self._add("twice", (f"{reader}: {one}" for one, times in Counter(seen).items() if times > 1))
            self._add(
                "not in order", (f"{reader}: {two}" for two in itertools.pairwise(seen) if two != tuple(sorted(two)))
            )

    def _add(self, name: str, flaws: Iterator[str]) -> None:
        found = [f"{name}: {flaw}" for flaw in flaws]
        self.counted[name] += len(found)
        self.messages.extend(found)


def _stored_otherwise(made: list[dict[str, Any]], stored: set[str]) -> Iterator[str]:
    """Yield calls that are not stored whole although they were granted, or are although they were not."""
    for call in made:
        there = sum(event_id in stored for event_id in call["ids"])
        if there != (0 if call["seq"] is None else len(call["ids"])):
            yield f"{there} events of {call}"


def _out_of_order(made: list[dict[str, Any]]) -> Iterator[str]:
    """Yield calls that began when one with a greater sequence number was acknowledged already."""
    granted = [call for call in made if call["seq"] is not None]
    ended = iter(sorted(granted, key=_by("ended")))
    before, latest = next(ended, None), 0
    for call in sorted(granted, key=_by("began")):
        while before is not None and before["ended"] < call["began"]:
            latest, before = max(latest, before["seq"]), next(ended, None)
        if call["seq"] <= latest:
            yield f"{call['seq']} after {latest}"


def _by(name: str) -> Callable[[dict[str, Any]], float]:
    return lambda call: float(call[name])


_WRONG: Final[Sequence[str]] = ("missed", "twice", "not in order", "gaps", "out of order", "stored otherwise")


def _count(report: Report, rounds: int, counted: Counter[str]) -> None:
    promise = "a reader misses nothing and sees nothing twice"
    report.count(promise, rounds, "calls made by three stores", counted["calls"], exactly(rounds))
    report.count(promise, rounds, "of these refused", counted["refused"], SOME)
    report.count(promise, rounds, "of several writes, and stored", counted["several"], SOME)
    report.count(promise, rounds, "failed", counted["failed"], NONE)
    report.count(promise, rounds, "events in the log", counted["events"], SOME)
    report.count(promise, rounds, "missed by who asks or who is woken", counted["missed"], NONE)
    report.count(promise, rounds, "seen twice", counted["twice"], NONE)
    report.count(promise, rounds, "seen out of order", counted["not in order"], NONE)
    promise = "positions are the order of the commits"
    report.count(promise, rounds, "gaps", counted["gaps"], NONE)
    report.count(promise, rounds, "behind one acknowledged before they began", counted["out of order"], NONE)
    report.count(promise, rounds, "stored otherwise than told", counted["stored otherwise"], NONE)
