"""Counting calls in memory: one process, a sliding span, the least recently used buckets forgotten first."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from pausemesh.core import limits


class MemoryRateLimiter:
    """The RateLimiter port for one process."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, most_buckets: int = limits.RATE_BUCKETS
    ) -> None:
        self._monotonic = monotonic
        self._most_buckets = most_buckets
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    async def take(self, bucket: str, most: int, seconds: float) -> float | None:
        """Count one call, refused ones too; the seconds to wait where there were ``most`` already."""
        now = self._monotonic()
        calls = self._calls.setdefault(bucket, deque(maxlen=most))
        self._calls.move_to_end(bucket)
        while len(self._calls) > self._most_buckets:
            self._calls.popitem(last=False)
        # Of the last ``most`` calls the oldest tells whether there is room.
        is_full = len(calls) == most and calls[0] > now - seconds
        calls.append(now)
        return calls[0] + seconds - now if is_full else None
