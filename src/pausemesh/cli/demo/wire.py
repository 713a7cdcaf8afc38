"""What the demo's processes say to the one that started them, and how they hear from it: a JSON object a line."""

import asyncio
import enum
import json
import os
import sys
from typing import Any


class Step(enum.StrEnum):
    """What a process reports, as it happens."""

    READY = "ready"
    NOTIFIED = "notified"
    ASKED = "asked"
    CLAIMED = "claimed"
    CALLING = "calling"
    BOOKED = "booked"
    IN_DOUBT = "in_doubt"
    SETTLED = "settled"
    RECORDED = "recorded"
    REFUSED = "refused"
    DONE = "done"
    ALREADY_DONE = "already_done"
    TOLD = "told"
    FAILED = "failed"


def say(step: Step, **members: Any) -> None:
    """Report a step; ``members`` are plain JSON. Where nobody listens any more, the process ends at once."""
    try:
        print(json.dumps({"step": step, **members}), flush=True)
    except BrokenPipeError:
        os._exit(1)


async def hear() -> dict[str, Any] | None:
    """Return the next thing that this process is told; None once nobody is there any more."""
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        return None
    heard: dict[str, Any] = json.loads(line)
    return heard
