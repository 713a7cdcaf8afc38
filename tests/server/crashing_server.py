"""``pausemesh`` with a store that dies at the point that the environment names, at the first write it comes to."""

import os
import sys
from pathlib import Path
from typing import Any, Self

from pausemesh.cli import database, main
from pausemesh.ports import Clock
from pausemesh.records import CrashPoint
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.faults import CrashAt


class CrashingStore(SqliteEventStore):
    """Dies with its process."""

    @classmethod
    async def open(cls, path: str | os.PathLike[str], clock: Clock, **options: Any) -> Self:
        """Open a file."""
        return await super().open(Path(path), clock, fault=CrashAt(CrashPoint(os.environ["CRASH_POINT"])), **options)


vars(database)["SqliteEventStore"] = CrashingStore

main(sys.argv[1:])
