"""What clients do all day: ask, answer, take back, go on, do something to the world, and be done."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from proofs.http.client import Client
from proofs.http.hold import Hold
from proofs.http.request import Keys

_SHORT_LIFE: Final = timedelta(minutes=10)
_V1: Final = "/v1/continuations"
_WAYS: Final = {"answer": 60, "cancel": 15, "reissue": 10, "leave": 15}


class Lives:
    """Lives of questions, one after the other; several of these run at once."""

    def __init__(self, client: Client, keys: Keys, name: str) -> None:
        self._client = client
        self._keys = keys
        self._choices = random.Random(name)

    async def live(self) -> None:
        """Live one life."""
        created = await self._create()
        if created is None:
            return
        noun_id, token, digest = created
        [way] = self._choices.choices([*_WAYS], [*_WAYS.values()])
        if way == "leave":
            return
        if token is None or way == "reissue":
            token = await self._reissue(noun_id)
        if token is None:
            return
        deciding = [self._resume(noun_id, token), self._resume(noun_id, token), self._answer(noun_id, digest)]
        if way == "cancel":
            deciding.append(self._cancel(noun_id))
        self._choices.shuffle(deciding)
        await asyncio.gather(*deciding[: self._choices.randint(1, len(deciding))])
        for coroutine in deciding:
            coroutine.close()
        await asyncio.gather(self._go_on(noun_id), self._go_on(noun_id))
        await self._ask_again()

    async def _create(self) -> tuple[str, str | None, str] | None:
        mark = self._client.mark()
        body: dict[str, Any] = {"payload": {"mark": mark}, "correlationId": mark}
        if self._choices.random() < 0.2:
            body["expiresAt"] = f"{(datetime.now(UTC) + _SHORT_LIFE).replace(tzinfo=None).isoformat()}Z"
        status, answer = await self._client.ask(
            "create", _V1, body, credential=self._keys.agent, mark=mark, key=True, expires="expiresAt" in body
        )
        if status >= 400:
            return None
        continuation = answer["continuation"]
        return continuation["continuationId"], answer["resumeToken"], continuation["shownDigest"]

    async def _reissue(self, noun_id: str) -> str | None:
        status, answer = await self._client.ask(
            "token", f"{_V1}/{noun_id}/token", {}, credential=self._keys.agent, id=noun_id
        )
        return answer["resumeToken"] if status == 200 else None

    async def _resume(self, noun_id: str, token: str) -> None:
        mark = self._client.mark()
        await self._client.ask(
            "resume",
            f"{_V1}/{noun_id}/resume",
            {"payload": {"mark": mark}},
            credential=self._keys.agent,
            mark=mark,
            key=True,
            token=token,
            id=noun_id,
        )

    async def _answer(self, noun_id: str, digest: str) -> None:
        mark = self._client.mark()
        await self._client.ask(
            "answer",
            f"{_V1}/{noun_id}/answer",
            {"payload": {"mark": mark}, "shownDigest": digest},
            credential=self._keys.editor,
            mark=mark,
            key=True,
            id=noun_id,
        )

    async def _cancel(self, noun_id: str) -> None:
        mark = self._client.mark()
        await self._client.ask(
            "cancel", f"{_V1}/{noun_id}/cancel", {"reason": mark}, credential=self._keys.agent, mark=mark, id=noun_id
        )

    async def _go_on(self, noun_id: str) -> None:
        hold = await Hold.take(self._client, self._keys.agent, noun_id)
        if hold is None:
            return
        keys = ("first", "second")[: self._choices.randint(0, 2)]
        for key in keys:
            await self._effect(hold, key)
        await (hold.finish() if self._choices.random() < 0.7 and await hold.is_clear() else hold.release())

    async def _effect(self, hold: Hold, key: str) -> None:
        """Let an effect be started by one or by two that do not know of each other."""
        told = await asyncio.gather(*[hold.start(key) for _ in range(self._choices.randint(1, 2))])
        for mark in told:
            if mark is not None:
                await self._run(hold, key, mark)

    async def _run(self, hold: Hold, key: str, mark: str) -> None:
        """Run an effect; now and then it fails first, and is started again."""
        running: str | None = mark
        if self._choices.random() < 0.2:
            await hold.record(key, mark, completed=False)
            running = await hold.start(key)
        if running is not None:
            self._client.run(hold.id, key)
            await hold.record(key, running, completed=True)

    async def _ask_again(self) -> None:
        """Send something again that was answered long ago, as a client does that lost its memory."""
        if self._client.answered and self._choices.random() < 0.5:
            await self._client.settle(self._choices.choice(self._client.answered))
