"""The memory store passes the contract of all stores, and fails where it is told to."""

from collections.abc import AsyncIterator

import pytest

from pausemesh.core.errors import OutcomeUnknown
from pausemesh.records import CrashPoint
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance import EventStoreContract
from pausemesh.testing.conformance_givens import SCOPE, audit_row, given, write
from pausemesh.testing.faults import RaiseAt


@pytest.fixture
async def store(clock: ManualClock) -> AsyncIterator[MemoryEventStore]:
    opened = MemoryEventStore(clock)
    yield opened
    await opened.close()


class TestMemoryEventStore(EventStoreContract):
    pass


@pytest.mark.parametrize(
    "point", [CrashPoint.BEFORE_BEGIN, CrashPoint.BEFORE_APPEND, CrashPoint.AFTER_APPEND_BEFORE_COMMIT]
)
async def test_a_failure_before_the_commit_stores_nothing(clock: ManualClock, point: CrashPoint) -> None:
    store = MemoryEventStore(clock, fault=RaiseAt(point, after=1))
    await given(store, write("a"))
    with pytest.raises(RuntimeError):
        await store.append(write("b", rows=(audit_row(),)), write("a", 1))
    assert [one.stream for one in await store.feed(0)] == ["a"]
    assert await store.list_audit(SCOPE) == []


async def test_a_failure_after_the_commit_leaves_its_caller_in_doubt_until_it_asks_again(clock: ManualClock) -> None:
    store = MemoryEventStore(clock, fault=RaiseAt(CrashPoint.AFTER_COMMIT_BEFORE_REPLY))
    call = write("a")
    with pytest.raises(OutcomeUnknown):
        await store.append(call)
    assert (await given(store, call)).replayed
