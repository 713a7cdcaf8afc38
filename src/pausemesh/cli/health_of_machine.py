"""Checks of this machine and of the place where a database is; nothing is opened, so that no lock is touched."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from pausemesh import StoreUnsafe
from pausemesh.cli.health import Check, fail, ok, warn
from pausemesh.server.settings import Settings
from pausemesh.stores.sqlite_connection import check_library

MOUNTS: Final = Path("/proc/self/mountinfo")

_MEBIBYTE: Final = 1024 * 1024
_FEW_BYTES: Final = 512 * _MEBIBYTE
_TOO_FEW_BYTES: Final = 64 * _MEBIBYTE
_REMOTE: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2", "lustre", "nfs", "nfs4"}
    | {"ocfs2", "smb3", "smbfs", "virtiofs"}
)
"""File systems on which processes of several machines cannot share SQLite's memory, or locks are not kept."""


def check_sqlite() -> Check:
    """Look at the SQLite library that comes with apsw."""
    version = apsw.sqlite_lib_version()
    try:
        check_library(version)
    except StoreUnsafe as error:
        return fail("sqlite", str(error.detail), "Install a newer apsw.")
    return ok("sqlite", f"SQLite {version}")


def checks_of_place(path: Path) -> Iterator[Check]:
    """Look at a database's file and its folder; the first one fails where there is no such file."""
    try:
        status = path.stat()
    except OSError as error:
        yield fail("file", f"{path}: {error.strerror}", "Name another with --database-path, or start pausemesh serve.")
        return
    if not stat.S_ISREG(status.st_mode):
        yield fail("file", f"{path} is no regular file.", "Name another with --database-path.")
        return
    yield _check_access(path, status.st_size)
    yield _check_permissions(path)
    yield _check_disk(path)
    yield _check_space(path)


def _check_access(path: Path, size: int) -> Check:
    missing = [
        word
        for word, place, wanted in (
            ("the file cannot be read", path, os.R_OK),
            ("the file cannot be written", path, os.W_OK),
            ("its folder cannot be written", path.resolve().parent, os.W_OK | os.X_OK),
        )
        if not os.access(place, wanted)
    ]
    if missing:
        advice = "Give it and its folder to the user that runs PauseMesh: the log beside the file is made there."
        return fail("file", f"{path}: {', '.join(missing)}.", advice)
    return ok("file", f"{path}, {size / _MEBIBYTE:,.1f} MiB, can be read and written")


def _check_permissions(path: Path) -> Check:
    """Look whether everybody on this machine can read what was asked and answered."""
    beside = [path, Path(f"{path}-wal"), Path(f"{path}-shm"), Settings(database_path=str(path)).own_secret_path]
    is_open = [file.name for file in beside if file.exists() and file.stat().st_mode & stat.S_IRWXO]
    if is_open and os.name == "posix":
        text = f"Everybody on this machine has access to {', '.join(is_open)}."
        return warn("permissions", text, f"chmod o-rwx {' '.join(str(path.with_name(name)) for name in is_open)}")
    return ok("permissions", "nobody but its owner and group has access")


def _check_disk(path: Path) -> Check:
    kind = kind_of_disk(path.resolve(), MOUNTS)
    if kind is None:
        return ok("disk", "what kind of file system it is on cannot be told here; it must be a local one")
    if kind in _REMOTE:
        return fail("disk", f"It is on {kind}, which is not local.", "Move it to a local disk: its log needs one.")
    return ok("disk", f"on {kind}, a local file system")


def kind_of_disk(path: Path, mounts: Path) -> str | None:
    """Return the kind of the file system that holds a path; None where the system does not tell (man 5 proc)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    longest, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        place = before.split()[4].replace("\\040", " ")
        if path.is_relative_to(place) and len(place) >= longest:  # what is mounted later hides what was there
            longest, kind = len(place), after.split()[0]
    return kind


def _check_space(path: Path) -> Check:
    free = shutil.disk_usage(path.resolve().parent).free
    text = f"{free / _MEBIBYTE:,.0f} MiB free"
    if free < _TOO_FEW_BYTES:
        return fail("space", text, "Make room: a full disk refuses every write.")
    if free < _FEW_BYTES:
        return warn("space", text, "Make room before the disk is full.")
    return ok("space", text)
