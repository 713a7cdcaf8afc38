"""The clients of several servers on one database: they outlive whatever happens to it, and know what they were told."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Final

import uvloop

from proofs.children import Voice
from proofs.http.client import Client
from proofs.http.lives import Lives
from proofs.http.orders import Orders
from proofs.http.request import Keys
from proofs.http.settling import answer_all, ask_some_again, settle_all

_LIVES_AT_ONCE: Final = 10
_WAIT_SECONDS: Final = 5
_PAUSE_SECONDS: Final = 0.05
_V1: Final = "/v1/continuations"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Lives of questions, and somebody who waits for answers.

    Attributes:
        name: seeds what is random, and makes every mark its own.
        ports: where the servers listen.
        keys: what the clients call with.
    """

    name: str
    ports: Sequence[int]
    keys: Keys

    def __call__(self, voice: Voice) -> None:
        """Live until told that it is enough, answer what is pending, and at last bring all to its end."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._live(voice))

    async def _live(self, voice: Voice) -> None:
        client = Client(self.ports, voice, self.name)
        orders = Orders(voice, client)
        lives = [self._live_on(client, orders, number) for number in range(_LIVES_AT_ONCE)]
        await asyncio.gather(self._wait_on(client, orders, voice), *lives)
        voice.say(processed=await answer_all(client, self.keys))
        await orders.finish.wait()
        await ask_some_again(client, self.name)
        await settle_all(client, self.keys)
        voice.say(finished=True, cuts={})

    async def _live_on(self, client: Client, orders: Orders, number: int) -> None:
        lives = Lives(client, self.keys, f"{self.name}/{number}")
        while not orders.calm.is_set():
            await lives.live()

    async def _wait_on(self, client: Client, orders: Orders, voice: Voice) -> None:
        """Ask, wait for the answer through one server, give it through another, and say that it was heard of."""
        number = 0
        while not orders.calm.is_set():
            number += 1
            voice.say(waiting=number)
            mark = client.mark()
            body = {"payload": {"mark": mark}, "correlationId": mark}
            _, created = await client.ask(
                "create", _V1, body, credential=self.keys.agent, mark=mark, key=True, expires=False
            )
            await asyncio.gather(
                self._wait_for(client, created["continuation"]["continuationId"]),
                self._answer(client, created["continuation"]),
            )
            voice.say(woken=number)

    async def _wait_for(self, client: Client, noun_id: str) -> None:
        path = f"{_V1}/{noun_id}?wait={_WAIT_SECONDS}"
        while (await client.read(path, self.keys.agent))["continuation"]["status"] == "pending":
            pass

    async def _answer(self, client: Client, continuation: dict[str, str]) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        mark, noun_id = client.mark(), continuation["continuationId"]
        body = {"payload": {"mark": mark}, "shownDigest": continuation["shownDigest"]}
        path = f"{_V1}/{noun_id}/answer"
        await client.ask("answer", path, body, credential=self.keys.editor, mark=mark, key=True, id=noun_id)
