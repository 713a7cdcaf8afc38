"""The process between servers and their database: a proxy for each server, which cuts flushes, or leads elsewhere."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from typing import Final
from urllib.parse import urlsplit

from pausemesh.testing.postgres_address import PostgresAddress
from proofs.children import Voice
from proofs.postgres.proxy import Fate, Proxy

_WEIGHTS: Final = {Fate.PASS: 40, Fate.CUT_BEFORE: 18, Fate.CUT_MEANWHILE: 19, Fate.CUT_AFTER: 19, Fate.HOLD: 7}


class Between:
    """Proxies; what they listen on is said first.

    Told ``upstream``, they lead there from then on.

    Args:
        upstream_port: of the database.
        proxies: how many there are.
        seed: of the fates.
        cuts: how many flushes are cut or held before all pass and that is said.
    """

    def __init__(self, upstream_port: int, *, proxies: int, seed: str = "", cuts: int = 0) -> None:
        self._upstream_port = upstream_port
        self._number = proxies
        self._choices = random.Random(seed)
        self._cuts = cuts
        self._fates: Counter[Fate] = Counter()
        self._enough = asyncio.Event()

    def __call__(self, voice: Voice) -> None:
        """Pass on until the process is killed."""
        asyncio.run(self._pass_on(voice))

    async def _pass_on(self, voice: Voice) -> None:
        async with AsyncExitStack() as stack:
            proxies = [
                await stack.enter_async_context(Proxy(self._upstream_port, self._fate)) for _ in range(self._number)
            ]
            asyncio.get_running_loop().add_reader(voice, _hear, voice, proxies)
            voice.say(ports=[proxy.port for proxy in proxies])
            await self._enough.wait()
            voice.say(cut={fate.name: number for fate, number in self._fates.items()})
            await asyncio.Event().wait()

    def _fate(self) -> Fate:
        if self._fates.total() >= self._cuts:
            self._enough.set()
            return Fate.PASS
        [fate] = self._choices.choices([*_WEIGHTS], [*_WEIGHTS.values()])
        self._fates[fate] += fate is not Fate.PASS
        return fate


def through(server: PostgresAddress, port: int) -> str:
    """Return a server's address by way of a proxy."""
    place = urlsplit(server.url)
    user, _, _ = place.netloc.rpartition("@")
    return place._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()


def _hear(voice: Voice, proxies: list[Proxy]) -> None:
    line = voice.hear()
    if line is None:
        asyncio.get_running_loop().remove_reader(voice)
        return
    for proxy in proxies:
        proxy.upstream_port = line["upstream"]
