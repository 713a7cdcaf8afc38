"""A layer under SQLite that notes each step it takes on its files, in their order."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

import apsw

from proofs.images.disk import Deleted, Step, Synced, Truncated, Written

CHECKPOINT_PAGES: Final = 24
"""How long the log grows before it is moved into the database: a fraction of what is usual, so that images see it."""

_LOG: Final = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
_NORMAL: Final = 1
_FULL: Final = 2

Note = Callable[[Step], None]


class RecordingDisk(apsw.VFS):
    """The system's files, with notes about those in one folder.

    Args:
        folder: of the files that are noted, by their names.
        note: told each step; a write before it is made, a sync after it.
    """

    def __init__(self, folder: Path, note: Note) -> None:
        self._base = apsw.vfs_names()[0]
        self._folder = folder
        self._note = note
        super().__init__(f"recording-{uuid.uuid4()}", self._base, makedefault=True)

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        """Open a file; one without a name is nobody's after a crash."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or Path(path).parent != self._folder:
            return apsw.VFSFile(self._base, name, flags)
        return RecordingFile(self._base, name, flags, Path(path).name, self._note)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - SQLite's
        """Remove a file."""
        self._note(Deleted(Path(filename).name, syncdir))
        super().xDelete(filename, syncdir)


class RecordingFile(apsw.VFSFile):
    """A file, with notes about it."""

    def __init__(self, base: str, name: str | apsw.URIFilename | None, flags: list[int], file: str, note: Note) -> None:
        self._file = file
        self._note = note
        # As SQLite's own layer for Unix has it: the first sync of a log that it may have made syncs the folder, too.
        self._syncs_folder = bool(flags[0] & _LOG and flags[0] & apsw.SQLITE_OPEN_CREATE)
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        """Write."""
        self._note(Written(self._file, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        """Cut."""
        self._note(Truncated(self._file, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """Sync, and note it once that is done."""
        super().xSync(flags)
        self._note(Synced(self._file, folder=self._syncs_folder))
        self._syncs_folder = False


class RelaxedConnection(apsw.Connection):
    """A connection that says it syncs each commit and does not: what the proof must catch."""

    def pragma(self, name: str, value: str | bytes | float | None = None, *, schema: str | None = None) -> object:
        """Ask or set; how it syncs is not up to the caller."""
        if name == "synchronous":
            super().pragma(name, _NORMAL)
            return _FULL
        given = () if value is None else (value,)
        return super().pragma(name, *given, schema=schema)


class CarelessConnection(apsw.Connection):
    """A connection that moves nothing out of the log when it is told to, so that nothing in it is synced by that."""

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        """Do nothing."""
        del dbname, mode
        return (0, 0)


@contextmanager
def recording(folder: Path, note: Note, connection: type[apsw.Connection]) -> Iterator[None]:
    """Have all files in a folder recorded that SQLite opens within the block, by connections of this kind."""
    disk = RecordingDisk(folder, note)
    apsw.connection_hooks.append(_checkpoint_often)
    try:
        with mock.patch.object(apsw, "Connection", connection):
            yield
    finally:
        apsw.connection_hooks.remove(_checkpoint_often)
        disk.unregister()


def _checkpoint_often(connection: apsw.Connection) -> None:
    connection.wal_autocheckpoint(CHECKPOINT_PAGES)
