"""Claiming by id or from a queue, as a block."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Final

from pausemesh.core.envelope import Continuation
from pausemesh.core.values import JsonValue
from pausemesh.records import Lease
from pausemesh.service.claims import Claims
from pausemesh.service.turn import Turn
from pausemesh.service.waiting import deadline_after, seconds_left
from pausemesh.service.wakeups import Wakeups
from pausemesh.service.world import World

_POLL_SECONDS: Final = 1.0
"""A lapsed lease wakes nobody, so a waiting worker looks this often."""


class Claiming:
    """A claim that is about to be taken: enter it to hold it, leave it to be done."""

    def __init__(self, take: Callable[[], Awaitable[Turn[JsonValue]]]) -> None:
        self._take = take
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Turn[JsonValue]:
        """Take the claim."""
        turn = await self._take()
        return await self._stack.enter_async_context(turn)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the turn."""
        await self._stack.__aexit__(kind, error, traceback)


async def claim_next_within(
    world: World,
    claims: Claims,
    wakeups: Wakeups,
    *,
    queue: str,
    worker: str | None,
    lease: timedelta,
    timeout: float | timedelta | None,
) -> tuple[Continuation, Lease] | None:
    """Take the next decision of a queue, waiting for one at most ``timeout``; None where there was none."""
    deadline = deadline_after(timeout)
    async with wakeups.of(world.scope) as woken:
        while True:
            woken.clear()
            taken = await claims.take_next(queue, worker=worker, lease=lease)
            if taken is not None:
                return taken
            left = seconds_left(deadline)
            if left <= 0:
                return None
            await woken.sleep(min(left, _POLL_SECONDS))
