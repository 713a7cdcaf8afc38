"""How often, and how quickly, several callers do something; printed as JSON for whoever started this."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable


async def rates(cycle: Callable[[], Awaitable[float]], callers: int, seconds: float) -> dict[str, float]:
    """Return cycles a second and the percentiles of what ``cycle`` returns, the milliseconds of its second half."""
    await cycle()
    resumes, ends = list[float](), time.perf_counter() + seconds

    async def call() -> None:
        while time.perf_counter() < ends:
            resumes.append(await cycle())

    begun = time.perf_counter()
    await asyncio.gather(*[call() for _ in range(callers)])
    elapsed = time.perf_counter() - begun
    ordered = sorted(resumes)
    return {
        "cycles": len(ordered),
        "per_second": len(ordered) / elapsed,
        "p50": ordered[len(ordered) // 2],
        "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
    }


def tell(found: dict[str, float]) -> None:
    """Print what was found."""
    print(json.dumps(found))
