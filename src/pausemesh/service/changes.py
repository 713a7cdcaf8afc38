"""What happens in a scope, as it happens: ids, statuses and versions, never a payload."""

import dataclasses
from collections.abc import AsyncGenerator
from typing import Final

from pausemesh.core import limits
from pausemesh.core.cursor import read_cursor, write_cursor
from pausemesh.core.errors import InvalidCursor
from pausemesh.core.values import JsonValue
from pausemesh.records import Recorded
from pausemesh.service.reads import Reads
from pausemesh.service.wakeups import Wakeups
from pausemesh.service.world import World

_STATUS: Final = {
    "continuation.created": "pending",
    "continuation.token_reissued": "pending",
    "continuation.resumed": "resumed",
    "continuation.cancelled": "cancelled",
    "continuation.expired": "expired",
    "claim.failed": "failed",
    "claim.finished": "done",
    "effect.started": "started",
    "effect.completed": "completed",
    "effect.failed": "failed",
    "effect.doubted": "unknown",
    "effect.resolved": "resolved",
}
"""What has become of a noun after an event of this type."""

_IDLE_SECONDS: Final = 15.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that was committed: ``noun`` is a continuation, claim or effect, ``seq`` its place in the log."""

    seq: int
    id: str
    noun: str
    noun_id: str
    continuation_id: str
    version: int
    status: str


class Changes:
    """The scope's part of the log, from any position on, in commit order and without gaps."""

    def __init__(self, world: World, reads: Reads, wakeups: Wakeups) -> None:
        self._world = world
        self._reads = reads
        self._wakeups = wakeups
        self._listing: JsonValue = ["changes-v1", world.scope]

    async def latest(self) -> int:
        """Return the seq of the last event of the whole log; 0: there is none."""
        return await self._world.store.last_seq()

    def position_of(self, seq: int) -> str:
        """Return a seq as opaque text that nobody can forge or carry to another scope."""
        return write_cursor(self._world.policy.cursor_keys, self._listing, seq)

    def seq_of(self, position: str) -> int:
        """Return the seq again.

        Raises:
            InvalidCursor: it is not a position of this scope.
        """
        seq = read_cursor(self._world.policy.cursor_keys, self._listing, position)
        if type(seq) is not int:
            raise InvalidCursor
        return seq

    async def after(self, seq: int) -> AsyncGenerator[tuple[Change, ...]]:
        """Yield batches of what was committed after ``seq``, now and as it comes; an empty one now and then."""
        async with self._wakeups.of(self._world.scope) as woken:
            while True:
                woken.clear()
                events = await self._world.store.feed(seq, self._world.scope, limits.FEED_MAX)
                if events:
                    seq = events[-1].seq
                yield tuple(change for event in events if (change := _change_of(event)) is not None)
                if len(events) < limits.FEED_MAX:
                    await woken.sleep(_IDLE_SECONDS)

    async def creator_of(self, continuation_id: str) -> str | None:
        """Return who asked, None where it was the host itself."""
        return (await self._reads.inspect(continuation_id)).created_by


def _change_of(event: Recorded) -> Change | None:
    """Return what an event means to a reader; None for what is nobody's business here."""
    status = _STATUS.get(event.type)
    if status is None:
        return None
    noun, _, noun_id = event.stream.partition("/")
    return Change(
        seq=event.seq,
        id=str(event.id),
        noun=noun,
        noun_id=noun_id,
        continuation_id=noun_id.partition("/")[0],
        version=event.version,
        status=status,
    )
