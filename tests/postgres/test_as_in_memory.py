"""Whatever is done, a store in PostgreSQL says and holds what one in memory does: one call a flush, and many."""

import asyncio
import dataclasses
import random
from datetime import timedelta
from typing import Any

import pytest

from pausemesh.core.errors import PauseMeshError
from pausemesh.ports import EventStore
from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Due, Lease, Write
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import OTHER_TOKEN, SCOPE, SECOND, TOKEN, audit_row, event, head
from pausemesh.testing.conformance_givens import write as a_write

NAMES = [f"s{number}" for number in range(8)]
ROUNDS = 60


class Script:
    """Draws what is done next; the same dice draw the same, but for the ids of events and rows."""

    def __init__(self, seed: int, clock: ManualClock) -> None:
        self.dice = random.Random(seed)
        self._clock = clock
        self._versions = dict.fromkeys(NAMES, 0)
        self._fences = dict.fromkeys(NAMES, 0)
        self._sent: list[tuple[Write, ...]] = []

    def calls(self, most: int) -> list[tuple[Write, ...]]:
        """Return calls of which no two touch the same stream."""
        names = self.dice.sample(NAMES, self.dice.randint(1, len(NAMES)))
        calls: list[tuple[Write, ...]] = []
        while names and len(calls) < most:
            size = min(len(names), self.dice.choice([1, 1, 1, 2, 3]))
            calls.append(tuple(self._write(names.pop()) for _ in range(size)))
        if most == 1 and self._sent and self.dice.random() < 0.15:
            return [self.dice.choice(self._sent)]
        self._sent += calls
        return calls

    def saw(self, name: str, version: int, fence: int) -> None:
        """Take note of how a stream is, so that what is drawn next has some chance."""
        self._versions[name], self._fences[name] = version, fence

    def _write(self, name: str) -> Write:
        roll, dice = self.dice.random, self.dice
        count = dice.choice([1, 1, 1, 0, 2, 3])
        members: dict[str, Any] = {
            "events": tuple(event(bytes([index])) for index in range(count)),
            "head": self._head() if count else None,
            "rows": (audit_row(),) * (count > 0 and roll() < 0.3),
            "history": roll() < 0.6,
            "due": dice.choice([Due.ANY, Due.ANY, Due.AHEAD, Due.PASSED]),
            "token_hash": dice.choice([None, None, None, TOKEN, OTHER_TOKEN]),
            "silent_since": self._clock.now() - SECOND * dice.randint(-3, 3) if roll() < 0.1 else None,
        }
        if roll() < 0.25:
            members |= {"fence": max(0, self._fences[name] - (roll() < 0.2)), "finish": roll() < 0.5}
        return a_write(name, max(0, self._versions[name] + dice.choice([0] * 9 + [1, -1])), **members)

    def _head(self) -> Any:
        dice = self.dice
        return head(
            status=dice.choice(["pending", "resumed"]),
            open=dice.random() < 0.4,
            correlation="trip-42" if dice.random() < 0.97 else "trip-43",
            token_hash=dice.choice([None, TOKEN]),
            queue=dice.choice([None, "q"]),
            owner=dice.choice([None, "o"]),
            due_at=self._clock.now() + SECOND * dice.randint(-2, 5) if dice.random() < 0.5 else None,
        )


async def told(store: EventStore, call: tuple[Write, ...]) -> object:
    try:
        return await store.append(*call)
    except PauseMeshError as error:
        return type(error), str(error)


@pytest.mark.parametrize("together", [1, 8])
@pytest.mark.parametrize("seed", range(12))
async def test_both_say_and_hold_the_same(
    store: PostgresEventStore, clock: ManualClock, seed: int, together: int
) -> None:
    memory = MemoryEventStore(clock)
    script = Script(seed, clock)
    leases: list[Lease] = []
    for _ in range(ROUNDS):
        clock.advance(timedelta(milliseconds=script.dice.choice([0, 1, 500, 1000, 2500])))
        calls = script.calls(together)
        ours = await asyncio.gather(*[told(store, call) for call in calls])
        theirs = [await told(memory, call) for call in calls]
        assert [comparable(one) for one in ours] == [comparable(one) for one in theirs]
        await change_a_claim(store, memory, script, leases)
        for name in NAMES:
            found = await store.load(SCOPE, name)
            assert found == await memory.load(SCOPE, name)
            if found is not None:
                script.saw(name, found.version, found.claim.fence)
    assert await store.feed(0, limit=10_000) == await memory.feed(0, limit=10_000)
    assert await store.list_audit(SCOPE, limit=10_000) == await memory.list_audit(SCOPE, limit=10_000)
    assert await store.list_due(100) == await memory.list_due(100)


async def change_a_claim(store: EventStore, memory: EventStore, script: Script, leases: list[Lease]) -> None:
    dice, name = script.dice, script.dice.choice(NAMES)
    lease = SECOND * dice.randint(1, 4)
    held = dice.choice(leases) if leases else None
    kind = dice.choice(["take", "take", "next", "renew", "release", "beat"])
    outcomes: list[object] = []
    for one in (store, memory):
        match kind:
            case "take":
                outcomes.append(await one.take(SCOPE, name, "ann", lease))
            case "next":
                outcomes.append(await one.take_next(SCOPE, "q", "bob", lease))
            case "renew" if held is not None:
                outcomes.append(await one.renew(held, lease))
            case "release" if held is not None:
                outcomes.append(await one.release(held))
            case _:
                await one.beat(SCOPE, [name])
                outcomes.append(None)
    assert outcomes[0] == outcomes[1]
    if isinstance(outcomes[0], Lease):
        leases.append(outcomes[0])


def comparable(outcome: Any) -> object:
    """Return an outcome without its last number where it stored nothing, which is of the flush that it was in."""
    if not isinstance(outcome, tuple) and hasattr(outcome, "last_seq") and not outcome.replayed:
        return dataclasses.replace(outcome, last_seq=0)
    return outcome
