"""What workers write down outside of the store, so that it is known even if they are killed next."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from pausemesh.records import Held, Lease
from pausemesh.stores.sqlite import SqliteEventStore
from proofs.stored import to_micros

Entry: TypeAlias = dict[str, Any]


class Journal:
    """A file that many processes append lines to, each line whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, **entry: Any) -> None:
        """Append a line."""
        os.write(self._file, json.dumps(entry, separators=(",", ":")).encode() + b"\n")

    def entries(self) -> list[Entry]:
        """Return all lines of all processes so far."""
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]


class JournalledStore(SqliteEventStore):
    """Notes each lease that it gives, extends, or is about to take back.

    Attributes:
        journal: where; must be set before the first use.
    """

    journal: Journal

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream."""
        taken = await super().take(scope, stream, worker, lease)
        if isinstance(taken, Lease):
            self._note("taken", taken, lease)
        return taken

    async def take_next(self, scope: str, queue: str, worker: str, lease: timedelta) -> Lease | None:
        """Take the claim that has been ready longest in a queue."""
        taken = await super().take_next(scope, queue, worker, lease)
        if taken is not None:
            self._note("taken", taken, lease)
        return taken

    async def renew(self, held: Lease, lease: timedelta) -> Lease | None:
        """Extend a live lease from now on."""
        renewed = await super().renew(held, lease)
        if renewed is not None:
            self._note("renewed", renewed, lease)
        return renewed

    async def release(self, held: Lease) -> bool:
        """Give a live lease back."""
        now = to_micros(datetime.now(UTC))
        self.journal.note(what="releasing", stream=held.stream, fence=held.fence, worker=held.worker, at=now)
        return await super().release(held)

    def _note(self, what: str, lease: Lease, length: timedelta) -> None:
        until = to_micros(lease.until)
        self.journal.note(
            what=what,
            stream=lease.stream,
            fence=lease.fence,
            worker=lease.worker,
            at=until - length // timedelta(microseconds=1),
            until=until,
        )


class GenerousStore(JournalledStore):
    """A store that gives a claim to whoever asks, though another one holds it; as a control."""

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take the claim of a stream away from its holder."""
        taken = await super().take(scope, stream, worker, lease)
        if not isinstance(taken, Held):
            return taken
        held = Lease(scope=scope, stream=stream, worker=worker, fence=taken.fence, until=taken.until, attempts=0)
        await SqliteEventStore.release(self, held)
        return await super().take(scope, stream, worker, lease)
