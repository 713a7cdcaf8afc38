"""What happens in one scope, read from the log and written down once for all who follow it."""

import asyncio
import contextlib
import dataclasses
from typing import Final, Protocol

import msgspec

from pausemesh.service.changes import Change, Changes

_CHANGES_IN_A_ROW: Final = 8
"""How many changes are told before others get their turn: each is told to every follower."""


@dataclasses.dataclass(frozen=True, slots=True)
class Told:
    """A change, and the bytes of the event that tells it."""

    change: Change
    event: bytes


class Follower(Protocol):
    """Who is told what happens; both methods return at once."""

    def tell(self, told: Told) -> None:
        """Be told of a change."""
        ...

    def end(self) -> None:
        """Be told of nothing more, since the log cannot be read."""
        ...


class Channel:
    """Reads while somebody follows; ``seq`` is how far everybody was told."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.seq = 0
        self._followers: set[Follower] = set()
        self._reading: asyncio.Task[None] | None = None
        self._joining = asyncio.Lock()

    async def join(self, follower: Follower) -> int:
        """Tell a follower of all that comes after the seq that is returned."""
        async with self._joining:
            if self._reading is None or self._reading.done():
                self.seq = await self.changes.latest()
                self._reading = asyncio.create_task(self._read(), name="pausemesh-channel")
            self._followers.add(follower)
            return self.seq

    def leave(self, follower: Follower) -> None:
        """Tell a follower of nothing more."""
        self._followers.discard(follower)
        if not self._followers and self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def told(self, change: Change) -> Told:
        """Return a change as it is told."""
        data = {
            "id": change.id,
            "noun": change.noun,
            "nounId": change.noun_id,
            "version": change.version,
            "status": change.status,
        }
        position = self.changes.position_of(change.seq).encode()
        return Told(change, b"id: %b\ndata: %b\n\n" % (position, msgspec.json.encode(data)))

    async def _read(self) -> None:
        try:
            async with contextlib.aclosing(self.changes.after(self.seq)) as batches:
                async for batch in batches:
                    await self._tell_all(batch)
        finally:
            if asyncio.current_task() is self._reading:
                for follower in self._followers:
                    follower.end()

    async def _tell_all(self, batch: tuple[Change, ...]) -> None:
        for number, change in enumerate(batch, start=1):
            told = self.told(change)
            for follower in self._followers:
                follower.tell(told)
            self.seq = change.seq
            if number % _CHANGES_IN_A_ROW == 0:
                await asyncio.sleep(0)
