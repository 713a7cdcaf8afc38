"""What the conformance suite puts into a store: short ways to say it."""

import dataclasses
import uuid
from datetime import timedelta
from typing import Any, Final

from pausemesh.ports import EventStore
from pausemesh.records import Appended, AuditRow, Head, Lease, NewEvent, Reason, Refused, Stream, Write

SCOPE: Final = "default"
SECOND: Final = timedelta(seconds=1)
TOKEN: Final = b"\x01" * 32
OTHER_TOKEN: Final = b"\x02" * 32


def event(data: bytes = b"{}") -> NewEvent:
    """Return an event with an id of its own."""
    return NewEvent(id=uuid.uuid4(), type="thing.happened", data=data)


def head(**members: Any) -> Head:
    """Return the head of an open thing without a deadline, but for the members given."""
    usual = Head(kind="thing", status="pending", open=True, correlation="trip-42")
    return dataclasses.replace(usual, **members)


def audit_row(**members: Any) -> AuditRow:
    """Return an audit row with an id of its own, but for the members given."""
    usual = AuditRow(
        id=uuid.uuid4(),
        action="resume",
        noun="thing",
        noun_id="1",
        correlation="trip-42",
        actor="operator:ann",
        digest="sha-256:00",
    )
    return dataclasses.replace(usual, **members)


def write(stream: str, expected_version: int = 0, **members: Any) -> Write:
    """Return a write of one event to a stream that is to be created, but for the members given."""
    usual = Write(scope=SCOPE, stream=stream, expected_version=expected_version, head=head(), events=(event(),))
    return dataclasses.replace(usual, **members)


def comparison(stream: str, expected_version: int, **members: Any) -> Write:
    """Return a write that stores nothing."""
    return write(stream, expected_version, head=None, events=(), **members)


async def given(store: EventStore, *writes: Write) -> Appended:
    """Append what surely can be appended."""
    result = await store.append(*writes)
    assert isinstance(result, Appended), result
    return result


async def given_decided(store: EventStore, stream: str, **members: Any) -> None:
    """Append a stream whose head is not open, so that its claim can be taken."""
    await given(store, write(stream, head=head(status="resumed", open=False, **members)))


async def taken(store: EventStore, stream: str, worker: str = "ann", lease: timedelta = 10 * SECOND) -> Lease:
    """Take a claim that surely can be taken."""
    lease_or_holder = await store.take(SCOPE, stream, worker, lease)
    assert isinstance(lease_or_holder, Lease), lease_or_holder
    return lease_or_holder


async def refused(store: EventStore, *writes: Write) -> Refused:
    """Append what surely is refused."""
    result = await store.append(*writes)
    assert isinstance(result, Refused), result
    return result


async def reasons(store: EventStore, *writes: Write) -> tuple[Reason, ...]:
    """Return why an append is refused, one reason a write."""
    return (await refused(store, *writes)).reasons


async def loaded(store: EventStore, stream: str) -> Stream:
    """Load a stream that surely is there."""
    found = await store.load(SCOPE, stream)
    assert found is not None
    return found
