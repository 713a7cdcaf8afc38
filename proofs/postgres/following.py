"""A process that reads what others append: by asking again and again, and by being woken."""

import asyncio
import contextlib
import dataclasses
from typing import Final

from psycopg_pool import AsyncConnectionPool

from pausemesh.postgres import PostgresEventStore
from proofs.children import Voice

_PAUSE_SECONDS: Final = 0.001
_PAGE: Final = 100
_SECONDS_TO_WAKE: Final = 10.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Two readers of one store.

    Attributes:
        url: of the database.
        schema: where its tables are.
    """

    url: str
    schema: str

    def __call__(self, voice: Voice) -> None:
        """Read until told where the log ends, and say what each reader saw."""
        asyncio.run(self._follow(voice))

    async def _follow(self, voice: Voice) -> None:
        async with AsyncConnectionPool(self.url, min_size=1, max_size=8) as pool:
            store = PostgresEventStore(pool, self.schema)
            end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().add_reader(voice, _hear, voice, end)
            asking, woken = _Reader(store, end), _Reader(store, end)
            voice.say(follows=True)
            waking = asyncio.create_task(woken.wake_on())
            await asyncio.gather(asking.ask_on(), woken.end_of_waking())
            waking.cancel()
            await asyncio.wait([waking])
            await store.close()
        voice.say(asking=asking.seen, woken=woken.seen)


class _Reader:
    """Goes on from the last event that it saw.

    Attributes:
        seen: sequence number and id of every event, in their order.
    """

    def __init__(self, store: PostgresEventStore, end: asyncio.Future[int]) -> None:
        self.seen: list[tuple[int, str]] = []
        self._store = store
        self._end = end
        self._grown = asyncio.Event()

    async def ask_on(self) -> None:
        """Ask for what is new, again and again."""
        while not self._is_at_end():
            if not await self._read():
                await asyncio.sleep(_PAUSE_SECONDS)

    async def wake_on(self) -> None:
        """Ask whenever there is something new."""
        async for _ in self._store.wakeups():
            while await self._read():
                pass

    async def end_of_waking(self) -> None:
        """Wait until the end was seen, or should have been."""
        await self._end
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_WAKE):
                while not self._is_at_end():
                    self._grown.clear()
                    await self._grown.wait()

    async def _read(self) -> int:
        events = await self._store.feed(self._last(), limit=_PAGE)
        self.seen += [(event.seq, event.id.hex) for event in events]
        self._grown.set()
        return len(events)

    def _last(self) -> int:
        return self.seen[-1][0] if self.seen else 0

    def _is_at_end(self) -> bool:
        return self._end.done() and self._last() >= self._end.result()


def _hear(voice: Voice, end: asyncio.Future[int]) -> None:
    line = voice.hear()
    asyncio.get_running_loop().remove_reader(voice)
    if line is not None:
        end.set_result(line["end"])
