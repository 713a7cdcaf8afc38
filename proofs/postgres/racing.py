"""Clients that race for the same questions through all servers, each until it is told who won."""

import asyncio
import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import uvloop

from proofs.children import Voice
from proofs.http.client import Client
from proofs.http.request import Keys, Request

RIVALS: Final = 4
_RACES_AT_ONCE: Final = 16
_CANCELLED_EVERY: Final = 4
_CREATED_AGAIN_EVERY: Final = 4
_V1: Final = "/v1/continuations"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Racing:
    """Races, many at once.

    Attributes:
        name: seeds what is random, and makes every mark its own.
        ports: where the servers listen.
        keys: what the clients call with.
        races: how many there are.
    """

    name: str
    ports: Sequence[int]
    keys: Keys
    races: int

    def __call__(self, voice: Voice) -> None:
        """Run all races."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._run_all(voice))

    async def _run_all(self, voice: Voice) -> None:
        client = Client(self.ports, voice, self.name)
        numbers = iter(range(self.races))
        await asyncio.gather(*[self._run_some(client, numbers) for _ in range(_RACES_AT_ONCE)])
        voice.say(raced=True)

    async def _run_some(self, client: Client, numbers: Iterator[int]) -> None:
        for number in numbers:
            await self._race(client, number)

    async def _race(self, client: Client, number: int) -> None:
        """Ask through one server, let all rivals go at once, and let the winner do the same again everywhere."""
        choices = random.Random(f"{self.name}/{number}")
        ports = choices.sample(self.ports, len(self.ports))
        creation = self._creation(client)
        _, created = await client.settle(creation, ports[0])
        rivals = self._rivals(client, created, is_cancelled=number % _CANCELLED_EVERY == 0)
        choices.shuffle(rivals)
        calls = zip(rivals, itertools.cycle(ports))
        told = await asyncio.gather(*[client.settle(rival, port) for rival, port in calls])
        for rival, (status, _) in zip(rivals, told, strict=True):
            if status < 300:
                await asyncio.gather(*[client.settle(rival, port) for port in ports])
        if number % _CREATED_AGAIN_EVERY == 0:
            await client.settle(creation, ports[-1])

    def _creation(self, client: Client) -> Request:
        mark = client.mark()
        body = {"payload": {"mark": mark}, "correlationId": mark}
        return client.request("create", _V1, body, credential=self.keys.agent, mark=mark, key=True, expires=False)

    def _rivals(self, client: Client, created: Any, *, is_cancelled: bool) -> list[Request]:
        noun_id, digest = created["continuation"]["continuationId"], created["continuation"]["shownDigest"]
        path, agent, marks = f"{_V1}/{noun_id}", self.keys.agent, [client.mark() for _ in range(RIVALS)]
        resuming = [
            client.request(
                "resume",
                f"{path}/resume",
                {"payload": {"mark": mark}},
                credential=agent,
                mark=mark,
                key=True,
                token=created["resumeToken"],
                id=noun_id,
            )
            for mark in marks[:2]
        ]
        answering = [
            client.request(
                "answer",
                f"{path}/answer",
                {"payload": {"mark": mark}, "shownDigest": digest},
                credential=self.keys.editor,
                mark=mark,
                key=True,
                id=noun_id,
            )
            for mark in marks[2 : 3 if is_cancelled else 4]
        ]
        cancelling = [
            client.request("cancel", f"{path}/cancel", {"reason": mark}, credential=agent, mark=mark, id=noun_id)
            for mark in marks[3:4]
            if is_cancelled
        ]
        return resuming + answering + cancelling
