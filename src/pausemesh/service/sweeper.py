"""Sweeping: overdue questions expire without anybody touching them, safely on several replicas."""

from collections.abc import Callable

from pausemesh.core.envelope import Status
from pausemesh.core.errors import StoreCorrupt
from pausemesh.service.deciding import Deciding
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.service.world import World


class Sweeper:
    """Expires what is overdue in every scope, one compare-and-swap each."""

    def __init__(self, world: World, deciding_in: Callable[[str], Deciding]) -> None:
        self._world = world
        self._deciding_in = deciding_in

    async def sweep(self, *, limit: int) -> int:
        """Expire the longest overdue, at most ``limit``; return how many this call expired.

        A stream that cannot be read is observed and passed over, so that it holds nobody else up.
        """
        expired = 0
        for head in await self._world.store.list_due(limit):
            if head.head.kind != CONTINUATIONS.name:
                continue
            noun_id = CONTINUATIONS.id_of(head.stream)
            try:
                outcome = await self._deciding_in(head.scope).expire(noun_id, hint=head.head.due_at)
            except StoreCorrupt as error:
                self._world.observe("rejection", CONTINUATIONS.name, noun_id, code=error.code)
                continue
            expired += not outcome.replayed and outcome.continuation.status is Status.EXPIRED
        return expired
