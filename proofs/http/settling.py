"""The end of a file's life, over HTTP: all that is open is brought to its end, as workers and people would do it."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final

from proofs.http.client import Client
from proofs.http.hold import Hold
from proofs.http.request import Keys

_V1: Final = "/v1/continuations"
_AT_ONCE: Final = 12
_ASKED_AGAIN: Final = 60


async def ask_some_again(client: Client, seed: str) -> None:
    """Send again some of what was answered."""
    asked = random.Random(seed).sample(client.answered, min(_ASKED_AGAIN, len(client.answered)))
    await asyncio.gather(*[client.settle(request) for request in asked])


async def settle_all(client: Client, keys: Keys) -> None:
    """Answer what is pending, and carry on what was answered and not carried on."""
    await answer_all(client, keys)
    gate = asyncio.Semaphore(_AT_ONCE)
    resumed = [one async for one in _listed(client, keys, "resumed")]
    await asyncio.gather(*[_within(gate, _settle(client, keys, one)) for one in resumed])


async def answer_all(client: Client, keys: Keys) -> int:
    """Answer what is pending, and return how much that was."""
    gate = asyncio.Semaphore(_AT_ONCE)
    pending = [one async for one in _listed(client, keys, "pending")]
    await asyncio.gather(*[_within(gate, _answer(client, keys, one)) for one in pending])
    return len(pending)


async def _within(gate: asyncio.Semaphore, doing: Awaitable[None]) -> None:
    async with gate:
        await doing


async def _listed(client: Client, keys: Keys, status: str) -> AsyncIterator[Any]:
    cursor: str | None = ""
    while cursor is not None:
        more = f"&cursor={cursor}" if cursor else ""
        page = await client.read(f"{_V1}?status={status}&limit=200{more}", keys.admin)
        for one in page["continuations"]:
            yield one
        cursor = page["nextCursor"]


async def _answer(client: Client, keys: Keys, continuation: Any) -> None:
    noun_id, mark = continuation["continuationId"], client.mark()
    await client.ask(
        "answer",
        f"{_V1}/{noun_id}/answer",
        {"payload": {"mark": mark}, "shownDigest": continuation["shownDigest"]},
        credential=keys.editor,
        mark=mark,
        key=True,
        id=noun_id,
    )


async def _settle(client: Client, keys: Keys, continuation: Any) -> None:
    noun_id = continuation["continuationId"]
    if continuation.get("claim", {}).get("status") == "done":
        return
    hold = await Hold.take(client, keys.agent, noun_id)
    if hold is None:
        return
    for effect in await hold.effects():
        await _settle_effect(hold, keys.admin, effect)
    await hold.finish()


async def _settle_effect(hold: Hold, admin: str, effect: Any) -> None:
    """Look at what really happened, say so, and make happen what did not."""
    key = effect["key"]
    if effect["status"] == "completed":
        return
    has_run = bool(hold.client.runs.get((hold.id, key)))
    if effect["status"] in {"started", "unknown"}:
        await hold.client.ask(
            "resolve",
            f"{_V1}/{hold.id}/effects/{key}/resolve",
            {"outcome": "done" if has_run else "not_done", "evidence": "looked at what the clients had done"},
            credential=admin,
            id=hold.id,
        )
    if not has_run:
        mark = await hold.start(key)
        if mark is not None:
            hold.client.run(hold.id, key)
            await hold.record(key, mark, completed=True)
