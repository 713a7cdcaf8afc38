"""A process that appends: alone and several writes at once, on streams of its own and on such as others want, too."""

import asyncio
import dataclasses
import itertools
import random
import time
import uuid
from typing import Any, Final

from psycopg_pool import AsyncConnectionPool

from pausemesh.core.errors import PauseMeshError
from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Appended, Head, NewEvent, Write
from proofs.children import Voice

_SCOPE: Final = "default"
_HEAD: Final = Head(kind="thing", status="pending", open=True, correlation="position")
_AT_ONCE: Final = 16
_WANTED_BY_ALL: Final = 8
_CALLS_PER_NAME: Final = 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Calls of one store.

    Attributes:
        name: seeds what is random, and makes its own streams.
        url: of the database.
        schema: where its tables are.
        calls: how many are made.
    """

    name: str
    url: str
    schema: str
    calls: int

    def __call__(self, voice: Voice) -> None:
        """Make all calls, and say what came of each."""
        asyncio.run(self._write(voice))

    async def _write(self, voice: Voice) -> None:
        async with AsyncConnectionPool(self.url, min_size=1, max_size=8) as pool:
            store = PostgresEventStore(pool, self.schema)
            numbers = iter(range(self.calls))
            writers = [_Writer(store, self.name, numbers, lane) for lane in range(_AT_ONCE)]
            await asyncio.gather(*[writer.write_all() for writer in writers])
            await store.close()
        voice.say(made=[call for writer in writers for call in writer.made])


class _Writer:
    """One of those who append to a store, a call after the other.

    Attributes:
        made: of each call when it began and ended, its greatest sequence number where it was stored, why it was not
            where it was not, and the ids of its events.
    """

    def __init__(self, store: PostgresEventStore, name: str, numbers: Any, lane: int) -> None:
        self.made: list[dict[str, Any]] = []
        self._store = store
        self._name = f"{name}-{lane}"
        self._numbers = numbers
        self._choices = random.Random(self._name)
        self._streams = itertools.count(1)
        self._versions: dict[str, int] = {}

    async def write_all(self) -> None:
        for number in self._numbers:
            await self._append(number // _CALLS_PER_NAME)

    async def _append(self, age: int) -> None:
        [several] = self._choices.choices([1, 2, 3, 4], [60, 20, 10, 10])
        names = {self._name_of(age) for _ in range(several)}
        writes = [self._write_to(name) for name in names]
        began, seq, why = time.monotonic(), None, ""
        try:
            result = await self._store.append(*writes)
        except PauseMeshError as error:
            why = error.code
        else:
            if isinstance(result, Appended):
                seq = result.last_seq
                self._versions.update({write.stream: write.expected_version + 1 for write in writes})
            else:
                why = "refused"
                found = zip(writes, result.actual, strict=True)
                self._versions.update({write.stream: actual for write, actual in found})
        ids = [event.id.hex for write in writes for event in write.events]
        self.made.append({"began": began, "ended": time.monotonic(), "seq": seq, "why": why, "ids": ids})

    def _name_of(self, age: int) -> str:
        if self._choices.random() < 0.4:
            return f"wanted-{age}-{self._choices.randrange(_WANTED_BY_ALL)}"
        return f"{self._name}-{next(self._streams)}"

    def _write_to(self, name: str) -> Write:
        event = NewEvent(id=uuid.uuid4(), type="thing.happened", data=b"{}")
        return Write(
            scope=_SCOPE, stream=name, expected_version=self._versions.get(name, 0), head=_HEAD, events=(event,)
        )
