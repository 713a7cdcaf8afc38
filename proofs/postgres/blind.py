"""The control: a store that compares nothing."""

from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Appended, Refused, Write
from proofs.races.blind import append_blindly


class BlindSchemaStore(PostgresEventStore):
    """Writes the next version, whatever version is expected."""

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, on whatever is there."""
        return await append_blindly(super().append, writes)
