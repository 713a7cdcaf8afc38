"""What a store does that compares nothing, as a control."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pausemesh.records import Appended, Reason, Refused, Write

Append: TypeAlias = Callable[..., Awaitable[Appended | Refused]]


async def append_blindly(append: Append, writes: tuple[Write, ...]) -> Appended | Refused:
    """Store all writes in one commit, on whatever is there: whatever version is expected, the next one is written."""
    while True:
        result = await append(*writes)
        if not isinstance(result, Refused) or Reason.VERSION not in result.reasons:
            return result
        writes = tuple(
            dataclasses.replace(write, expected_version=actual)
            for write, actual in zip(writes, result.actual, strict=True)
        )
