"""Opens an image with the real store and looks for everything that was acknowledged."""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

import pausemesh
from pausemesh.core.errors import StoreError
from pausemesh.ports import EventStore
from pausemesh.records import Appended, Write
from pausemesh.stores.sqlite import SqliteEventStore
from proofs.images.life import SCOPE, write_to
from proofs.images.moment import Moment
from proofs.stored import EventRow, Stored
from proofs.stored_file import StoredFile


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What an image lacks of what was promised, and where it is not whole."""

    lost: list[str]
    flaws: list[str]


async def look(image: Path, promised: Moment, choices: random.Random) -> Found:
    """Open the image, look everything up, and go on with it."""
    try:
        store = await SqliteEventStore.open(image, pausemesh.SystemClock())
    except StoreError as error:
        return Found([], [f"it does not open: {error.code} {error}"])
    try:
        return await _look(store, image, promised, choices)
    except apsw.Error as error:
        return Found([], [f"it cannot be read: {error!r}"])
    finally:
        await store.close()


async def _look(store: EventStore, image: Path, promised: Moment, choices: random.Random) -> Found:
    stored = StoredFile(image)
    flaws = [*stored.flaws(), *_halves(promised.calls, stored)]
    result = await store.append(write_to("afterwards", 0, choices))
    if not isinstance(result, Appended):
        flaws.append(f"nothing can be appended: {result}")
    return Found([*_lost_calls(promised, stored), *_lost_claims(promised, stored)], flaws)


def _lost_calls(promised: Moment, stored: Stored) -> Iterator[str]:
    for number in promised.acknowledged:
        lost = [write.stream for write in promised.calls[number] if not _is_there(write, stored)]
        if lost:
            yield f"call {number} was acknowledged, and is lost in {lost}"


def _lost_claims(promised: Moment, stored: Stored) -> Iterator[str]:
    for claim in promised.claims:
        found = stored.streams.get((SCOPE, claim.stream))
        if found is None or found.head is None or found.head.fence < claim.fence:
            yield f"{claim} was acknowledged, and is lost"


def _halves(calls: Sequence[tuple[Write, ...]], stored: Stored) -> Iterator[str]:
    for number, writes in enumerate(calls):
        there = [_is_there(write, stored) for write in writes]
        if any(there) and not all(there):
            yield f"of call {number} there is only a part: {there}"


def _is_there(write: Write, stored: Stored) -> bool:
    """Tell whether a write's event is stored, byte for byte."""
    found = stored.streams.get((write.scope, write.stream))
    if found is None or len(found.events) <= write.expected_version:
        return False
    row: EventRow = found.events[write.expected_version]
    [event] = write.events
    return (row.version, row.id, row.data) == (write.expected_version + 1, event.id.bytes, event.data)
