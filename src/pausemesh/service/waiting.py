"""Waiting until a question is decided, by whatever process."""

import asyncio
from datetime import timedelta
from typing import Final

from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import InvalidRequest, WaitTimeout
from pausemesh.core.issue import Issue
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.service.reads import Reads
from pausemesh.service.requests import continuation_id_of
from pausemesh.service.wakeups import Wakeups
from pausemesh.service.world import World

_LONGEST_SLEEP_SECONDS: Final = 3_600.0
_LONGEST_TIMEOUT_SECONDS: Final = 10.0**9
_GRACE_SECONDS: Final = 0.005
"""A sleep until a deadline ends just after it, so that the read that follows sees it passed."""


class Waiting:
    """Observes; it never claims and never decides."""

    def __init__(self, world: World, reads: Reads, wakeups: Wakeups) -> None:
        self._world = world
        self._reads = reads
        self._wakeups = wakeups

    async def until_decided(self, continuation_id: str, *, timeout: float | timedelta | None) -> Continuation:
        """Return the continuation once it is resumed, cancelled or expired."""
        deadline = deadline_after(timeout)
        stream = CONTINUATIONS.stream_of(continuation_id_of(continuation_id))
        async with self._wakeups.of(self._world.scope, stream) as woken:
            while True:
                woken.clear()
                continuation = await self._reads.inspect(continuation_id)
                if continuation.status is not Status.PENDING:
                    return continuation
                left = seconds_left(deadline)
                if left <= 0:
                    raise WaitTimeout
                await woken.sleep(min(left, self._seconds_until_due(continuation)))

    def _seconds_until_due(self, continuation: Continuation) -> float:
        if continuation.expires_at is None:
            return _LONGEST_SLEEP_SECONDS
        left = (continuation.expires_at - self._world.clock.now()).total_seconds()
        return min(max(left, 0.0) + _GRACE_SECONDS, _LONGEST_SLEEP_SECONDS)


def deadline_after(timeout: object) -> float | None:
    """Return the time of the running loop at which ``timeout`` (seconds, or a timedelta) ends; None: never.

    Raises:
        InvalidRequest: it is negative or no time.
    """
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise InvalidRequest(issues=[Issue("/timeout", "range", "must be a time of at least 0")])
    return asyncio.get_running_loop().time() + float(min(seconds, _LONGEST_TIMEOUT_SECONDS))


def seconds_left(deadline: float | None) -> float:
    """Return the seconds until a deadline of the running loop; without one, a long time."""
    if deadline is None:
        return _LONGEST_SLEEP_SECONDS
    return deadline - asyncio.get_running_loop().time()
