"""Temporary folders for the files of a proof."""

import os
import tempfile
from pathlib import Path
from typing import Final

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - only folders with names of their own are made there


def folder_on_disk() -> tempfile.TemporaryDirectory[str]:
    """Make a folder where files are flushed to a disk."""
    return tempfile.TemporaryDirectory(prefix="proof-")


def folder_in_memory() -> tempfile.TemporaryDirectory[str]:
    """Make a folder for files that nobody flushes; in memory where the system has a place for that."""
    usable = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK)
    return tempfile.TemporaryDirectory(prefix="proof-", dir=_IN_MEMORY if usable else None)
