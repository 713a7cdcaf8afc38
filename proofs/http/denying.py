"""The control: a store that says, now and then, that nothing happened, when all of it did."""

import itertools

from pausemesh.core.errors import StoreUnavailable
from pausemesh.records import Appended, Refused, Write
from pausemesh.stores.sqlite import SqliteEventStore

_NUMBERS = itertools.count(1)
_EVERY = 2


class DenyingStore(SqliteEventStore):
    """Commits, and then says that it could not."""

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit."""
        appended = await super().append(*writes)
        if isinstance(appended, Appended) and next(_NUMBERS) % _EVERY == 0:
            raise StoreUnavailable
        return appended
