"""The control: a store that takes a lost connection for a flush that was surely not made."""

from typing import Any

from pausemesh.core.errors import StoreUnavailable
from pausemesh.postgres import PostgresEventStore
from pausemesh.stores.postgres_flusher import AskedCalls, PostgresFlusher


class _GivingUpFlusher(PostgresFlusher):
    async def _resend(self, asked: AskedCalls) -> None:
        await self._drop_session()
        for one in asked:
            one.settle(StoreUnavailable())


class GivingUpStore(PostgresEventStore):
    """Sends nothing again, and says that nothing was written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._flusher.__class__ = _GivingUpFlusher
