"""The process of the clients: it outlives the servers, and knows what every client was told."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Final

import uvloop

from proofs.children import Voice
from proofs.http.client import Client
from proofs.http.cutter import Cutter
from proofs.http.lives import Lives
from proofs.http.orders import Orders
from proofs.http.request import Keys
from proofs.http.settling import ask_some_again, settle_all

_LIVES_AT_ONCE: Final = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Clients of one file.

    Attributes:
        name: seeds what is random, and makes every mark its own.
        port: where the servers listen.
        keys: what the clients call with.
        cuts: how many requests a proxy cuts before the clients end by themselves; 0: there is none.
    """

    name: str
    port: int
    keys: Keys
    cuts: int = 0

    def __call__(self, voice: Voice) -> None:
        """Live until told to finish, then bring all to its end."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._live(voice))

    async def _live(self, voice: Voice) -> None:
        async with self._way() as (port, cutter):
            client = Client([port], voice, self.name)
            orders = Orders(voice, client)
            lives = [self._live_on(client, orders, cutter, f"{self.name}/{number}") for number in range(_LIVES_AT_ONCE)]
            await asyncio.gather(*lives)
            voice.say(lived=True)
            await orders.finish.wait()
            if cutter is not None:
                cutter.is_calm = True
            await ask_some_again(client, self.name)
            await settle_all(client, self.keys)
            voice.say(finished=True, cuts={} if cutter is None else dict(cutter.cuts))

    async def _live_on(self, client: Client, orders: Orders, cutter: Cutter | None, name: str) -> None:
        lives = Lives(client, self.keys, name)
        while not orders.calm.is_set() and (cutter is None or cutter.cut < self.cuts):
            await lives.live()

    @contextlib.asynccontextmanager
    async def _way(self) -> AsyncIterator[tuple[int, Cutter | None]]:
        """Give the port that clients call, and the proxy that listens there."""
        if not self.cuts:
            yield self.port, None
            return
        async with Cutter(self.port, self.name) as cutter:
            yield cutter.port, cutter
