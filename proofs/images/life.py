"""The life of a file that is recorded: several callers at once, group commits, checkpoints, and readers."""

import asyncio
import dataclasses
import random
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import apsw

import pausemesh
from pausemesh.ports import EventStore
from pausemesh.records import Appended, AuditRow, Head, Lease, NewEvent, Write
from pausemesh.stores.sqlite import SqliteEventStore
from proofs.images.disk import Step
from proofs.images.recording import recording

FILE: Final = "mesh.db"
SCOPE: Final = "default"
_CALLERS: Final = 6
_CALLS_PER_CALLER: Final = 14
_LEASE: Final = timedelta(minutes=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """A call was made, by its number."""

    call: int


@dataclasses.dataclass(frozen=True, slots=True)
class Acknowledged:
    """The caller of a call, by its number, was told that it is done."""

    call: int


@dataclasses.dataclass(frozen=True, slots=True)
class Claimed:
    """Somebody was told that it holds a claim."""

    stream: str
    fence: int


Mark = Step | Begun | Acknowledged | Claimed


class Life:
    """What happened to a file, step by step.

    Args:
        calls: those of an earlier life.

    Attributes:
        marks: steps of the disk and words to callers, in their order.
        calls: what was appended, by number, acknowledged or not.
    """

    def __init__(self, calls: Sequence[tuple[Write, ...]] = ()) -> None:
        self.marks: list[Mark] = []
        self.calls = list(calls)

    async def append(self, store: EventStore, *writes: Write) -> None:
        """Append, and note the acknowledgement."""
        self.calls.append(writes)
        await self.append_again(store, len(self.calls) - 1)

    async def append_again(self, store: EventStore, number: int) -> None:
        """Append what may be there already, and note the acknowledgement."""
        self.marks.append(Begun(number))
        result = await store.append(*self.calls[number])
        assert isinstance(result, Appended), result
        self.marks.append(Acknowledged(number))

    async def take(self, store: EventStore, stream: str) -> None:
        """Take a claim, note it, and give it back."""
        lease = await store.take(SCOPE, stream, "worker", _LEASE)
        assert isinstance(lease, Lease), lease
        self.marks.append(Claimed(stream, lease.fence))
        await store.release(lease)

    @asynccontextmanager
    async def recorded(self, folder: Path, connection: type[apsw.Connection]) -> AsyncIterator[EventStore]:
        """Record what happens to the file in a folder; how it is closed in good order is left out."""
        with recording(folder, self.marks.append, connection):
            store = await SqliteEventStore.open(folder / FILE, pausemesh.SystemClock())
            try:
                yield store
            finally:
                length = len(self.marks)
                await store.close()
                del self.marks[length:]


async def live(folder: Path, choices: random.Random, connection: type[apsw.Connection]) -> Life:
    """Record a file's life from nothing on."""
    life = Life()
    async with life.recorded(folder, connection) as store:
        callers = [_call(life, store, f"caller-{number}", choices) for number in range(_CALLERS)]
        await asyncio.gather(*callers)
    return life


async def live_on(
    folder: Path,
    calls: Sequence[tuple[Write, ...]],
    unanswered: Sequence[int],
    choices: random.Random,
    connection: type[apsw.Connection],
) -> Life:
    """Record what a process does that finds the file after a kill: it sends again what nobody had an answer to."""
    life = Life(calls)
    async with life.recorded(folder, connection) as store:
        for number in unanswered:
            await life.append_again(store, number)
        await _call(life, store, "successor", choices)
    return life


async def _call(life: Life, store: EventStore, name: str, choices: random.Random) -> None:
    """Make calls one after the other: of one stream, of several at once, of claims; and read now and then."""
    versions: dict[str, int] = {}
    for number in range(_CALLS_PER_CALLER):
        new = f"{name}/{number}"
        streams = [new, *choices.sample(sorted(versions), k=min(len(versions), choices.choice([0, 0, 1, 2])))]
        await life.append(store, *[write_to(stream, versions.get(stream, 0), choices) for stream in streams])
        for stream in streams:
            versions[stream] = versions.get(stream, 0) + 1
        if choices.random() < 0.2:
            await life.take(store, new)
        if choices.random() < 0.1:
            await store.load(SCOPE, new)


def write_to(stream: str, version: int, choices: random.Random) -> Write:
    """Return a write of one event, sometimes a large one, sometimes with an audit row."""
    data = choices.randbytes(choices.choice([40, 40, 300, 6_000]))
    audited = choices.random() < 0.3
    row = AuditRow(id=uuid.uuid4(), action="try", noun="thing", noun_id=stream, correlation="c", actor="operator:ana")
    return Write(
        scope=SCOPE,
        stream=stream,
        expected_version=version,
        head=Head(kind="thing", status="there", open=False, correlation="c"),
        events=(NewEvent(id=uuid.uuid4(), type="thing.happened", data=data),),
        rows=(row,) if audited else (),
    )
