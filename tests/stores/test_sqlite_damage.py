"""A damaged file is found corrupt where that can be seen, and never breaks its reader in another way."""

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import apsw
import pytest

from pausemesh.core.errors import InvalidRequest, PauseMeshError, StoreCorrupt
from pausemesh.ports import EventStore
from pausemesh.records import Lease
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    audit_row,
    comparison,
    event,
    given,
    given_decided,
    head,
    taken,
    write,
)

_FLIPS: Final = 300
_HUGE: Final = "9223372036854775807"


async def make(path: Path, clock: ManualClock) -> None:
    """Make a file with something in each of its tables."""
    store = await SqliteEventStore.open(path, clock)
    due = head(due_at=clock.now() - timedelta(days=1), owner="o", trace="t", token_hash=b"0" * 32)
    for name in "ab":
        await given(store, write(name, head=due, events=(event(), event(b"{}" * 50)), rows=(audit_row(note="n"),)))
    await given_decided(store, "c", queue="q")
    await given_decided(store, "d", queue="q")
    await taken(store, "c")
    await store.beat(SCOPE, list("abcd"))
    await store.close()


def uses_of(store: EventStore, clock: ManualClock) -> list[Callable[[], Awaitable[object]]]:
    lease = Lease(scope=SCOPE, stream="c", worker="ann", fence=1, until=clock.now(), attempts=1)
    silent = comparison("a", 2, silent_since=clock.now() + SECOND, history=True)
    return [
        lambda: store.load(SCOPE, "a"),
        lambda: store.load_many([(SCOPE, name) for name in "abcd"]),
        lambda: store.list_by_correlation(SCOPE, "trip-42"),
        lambda: store.list_by_status(SCOPE, "thing", "pending"),
        store.list_due,
        lambda: store.list_audit(SCOPE),
        lambda: store.feed(0),
        lambda: store.feed(0, SCOPE),
        lambda: store.feed_of_correlation(SCOPE, "trip-42", 0),
        store.last_seq,
        lambda: store.append(silent),
        lambda: store.append(write("a", 1, history=True)),
        lambda: store.append(write("b", 2)),
        lambda: store.renew(lease, SECOND),
        lambda: store.take(SCOPE, "c", "bob", SECOND),
        lambda: store.take_next(SCOPE, "q", "bob", SECOND),
        lambda: store.beat(SCOPE, ["a"]),
        lambda: store.release(lease),
    ]


async def test_flipped_bits_give_only_errors_of_ours(tmp_path: Path, path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    whole, choices = path.read_bytes(), random.Random(20_261_130)
    corrupt = 0
    for index in range(_FLIPS):
        damaged = bytearray(whole)
        for _ in range(choices.choice([1, 5, 40])):
            damaged[choices.randrange(len(damaged))] ^= 1 << choices.randrange(8)
        target = tmp_path / f"flipped{index}.db"
        target.write_bytes(damaged)
        corrupt += await _outlive(target, clock)
    assert corrupt > _FLIPS / 10


async def _outlive(target: Path, clock: ManualClock) -> bool:
    """Use a damaged file in every way there is; return whether it was found corrupt."""
    try:
        store = await SqliteEventStore.open(target, clock, call_seconds=5)
    except PauseMeshError as error:
        return isinstance(error, StoreCorrupt)
    found = False
    for use in uses_of(store, clock):
        try:
            await use()
        except PauseMeshError as error:
            found = found or isinstance(error, StoreCorrupt)
    await store.close()
    return found


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE heads SET due_at = HUGE - 1, created_at = HUGE",
        "UPDATE heads SET updated_at = -HUGE",
        "UPDATE heads SET due_at = -HUGE",
        "UPDATE heads SET open = 0, queue = 'q', holder = 'x', done_at = NULL, lease_until = HUGE",
        "UPDATE heads SET fence = -5, attempts = -1",
        "UPDATE heads SET open = 0, lease_until = NULL, fence = HUGE",
        "UPDATE heads SET status = CAST(x'ff41' AS TEXT)",
        "UPDATE heads SET owner = CAST(x'c3' AS TEXT)",
        "DROP TRIGGER events_refuse_update; UPDATE events SET at = HUGE",
        "DROP TRIGGER events_refuse_update; UPDATE events SET type = CAST(x'ff' AS TEXT)",
        "DROP TRIGGER events_refuse_update; PRAGMA ignore_check_constraints = 1; UPDATE events SET id = x'00'",
        "UPDATE beats SET beat_at = HUGE",
        "DROP TRIGGER audit_log_refuse_update; UPDATE audit_log SET actor = CAST(x'ff' AS TEXT)",
        "DROP TRIGGER audit_log_refuse_update; UPDATE audit_log SET at = HUGE",
        "DROP TRIGGER events_refuse_update; UPDATE events SET seq = -seq",
    ],
)
async def test_a_value_that_a_column_cannot_hold_is_damage(path: Path, clock: ManualClock, damage: str) -> None:
    await make(path, clock)
    store = await SqliteEventStore.open(path, clock)
    connection = apsw.Connection(str(path))
    connection.execute(damage.replace("HUGE", _HUGE))
    connection.close()
    errors: list[type[PauseMeshError]] = []
    for use in uses_of(store, clock):
        try:
            await use()
        except PauseMeshError as error:
            errors.append(type(error))
    await store.close()
    assert StoreCorrupt in errors
    assert set(errors) <= {StoreCorrupt, InvalidRequest}


async def test_damage_that_only_one_caller_meets_hurts_only_that_one(path: Path, clock: ManualClock) -> None:
    await make(path, clock)
    store = await SqliteEventStore.open(path, clock)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE heads SET status = CAST(x'ff41' AS TEXT) WHERE stream = 'a'")
    connection.close()
    for _ in range(2):
        with pytest.raises(StoreCorrupt) as raised:
            await store.load(SCOPE, "a")
        assert raised.value.__cause__ is None
        assert await store.load(SCOPE, "b") is not None
        with pytest.raises(StoreCorrupt):
            await store.append(write("a", 2))
    await given(store, write("e"))
    await store.close()
