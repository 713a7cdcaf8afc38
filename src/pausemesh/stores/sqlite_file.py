"""Which file is at a path: one that was unlinked or replaced under an open connection would take writes into nowhere.

Files are made and looked at, and one that was there is never opened here: closing a second handle on a file drops the
locks that SQLite has on it.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from pausemesh.core.errors import StoreUnavailable

_LOOKS_FOR_A_LOG: Final = 50
_LOOK_SECONDS: Final = 0.001
_OWNER_ALONE: Final = 0o600

_Identity: TypeAlias = tuple[int, int]


class Files(NamedTuple):
    """The database at a path and the log beside it, as the system numbers them; a None is not there."""

    database: _Identity | None
    log: _Identity | None


class FileMoved(StoreUnavailable):
    """The store's file or its log was removed or replaced; nothing was written."""


class SqliteFile:
    """The place of a store's file; all connections of the store share it, so that it knows what was there before.

    Args:
        path: of the database, absolute and without symbolic links.
        replaced: called by the thread that finds another database there than before.

    Attributes:
        was_replaced: another database than the first one was opened.
    """

    def __init__(self, path: str, replaced: Callable[[], object] | None = None) -> None:
        self.path = path
        self._log = f"{path}-wal"
        self._index_of_log = f"{path}-shm"
        self._replaced = replaced
        self._last: Files | None = None
        self.was_replaced = False

    def look(self) -> Files:
        """Return what is there now: two calls of the system, and no lock is touched."""
        return Files(_identity(self.path), _identity(self._log))

    def is_missing(self) -> bool:
        """Tell whether nothing is there at all."""
        return not os.path.lexists(self.path)

    def make(self) -> None:
        """Make an empty file for its owner alone, as its log will be; what is there already is left as it is.

        Raises:
            StoreUnavailable: it cannot be made.
        """
        try:
            _make(self.path)
        except FileExistsError:
            return
        except OSError as error:
            raise StoreUnavailable(f"The file cannot be made: {error.strerror}.") from error

    def check(self) -> Files:
        """Return what is there, fit to be opened as a database.

        Raises:
            StoreUnavailable: it is missing or no regular file, or its log is gone or of another database.
        """
        try:
            mode = os.lstat(self.path).st_mode
        except OSError as error:
            raise StoreUnavailable(f"The file cannot be found: {error.strerror}.") from error
        if not stat.S_ISREG(mode):
            raise StoreUnavailable("There is something else than a regular file at its path.")
        if self._is_log_removed():
            raise StoreUnavailable("Its log was removed while in use: close it everywhere, then remove its -shm.")
        files = self.look()
        last = self._last
        if last is not None and files.database != last.database and files.log == last.log is not None:
            raise StoreUnavailable("The file was replaced, and the log of the one before is beside it: remove that.")
        return files

    def settle(self, expected: Files) -> Files:
        """Return what is there now that a connection is open and its log was made.

        Raises:
            StoreUnavailable: it is not the database that was expected, or it has no log.
        """
        files = self.look()
        if files.database != expected.database or files.log is None:
            raise StoreUnavailable("The file was replaced while it was opened.")
        last, self._last = self._last, files
        if last is not None and last.database != files.database:
            self.was_replaced = True
            if self._replaced is not None:
                self._replaced()
        return files

    def _is_log_removed(self) -> bool:
        """Tell whether the log's index is there without the log, and stays so: others may open or close just now."""
        for _ in range(_LOOKS_FOR_A_LOG):
            if not os.path.lexists(self._index_of_log) or os.path.lexists(self._log):
                return False
            time.sleep(_LOOK_SECONDS)
        return True


def _make(path: str) -> None:
    """Make an empty file, without a handle on it where the system can."""
    if hasattr(os, "mknod"):
        # Where only the superuser may, or the file system does not know how, the way below says what is wrong.
        with contextlib.suppress(PermissionError, NotImplementedError):
            os.mknod(path, _OWNER_ALONE | stat.S_IFREG)
            return
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWNER_ALONE))


def _identity(path: str) -> _Identity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
