"""What a store can be opened with; looked at before anything is touched."""

import os
from pathlib import Path
from typing import Final

from pausemesh.core.errors import InvalidRequest, StoreUnavailable, StoreUnsafe
from pausemesh.core.issue import Issue

_READERS_MOST: Final = 64
_CALL_SECONDS_MOST: Final = 86_400
_EVENTS_MOST: Final = 2**31


def check_clock(clock: object) -> None:
    """Pass a clock.

    Raises:
        InvalidRequest: it cannot be asked for the time.
    """
    if not callable(getattr(clock, "now", None)):
        raise _refusal("/clock", "must have a method now()")


def check_fault(fault: object) -> None:
    """Pass a hook for failures.

    Raises:
        InvalidRequest: it cannot be called.
    """
    if fault is not None and not callable(fault):
        raise _refusal("/fault", "must be callable, or None")


def check_flag(flag: object) -> None:
    """Pass True or False.

    Raises:
        InvalidRequest: it is neither.
    """
    if type(flag) is not bool:
        raise _refusal("/create", "must be True or False")


def check_max_events(count: object) -> None:
    """Pass how many events a stream may hold.

    Raises:
        InvalidRequest: it is not a positive integer.
    """
    _check_count(count, _EVENTS_MOST, "/max_events_per_stream")


def check_readers(count: object) -> None:
    """Pass a number of threads.

    Raises:
        InvalidRequest: it is not a positive integer, or too great.
    """
    _check_count(count, _READERS_MOST, "/readers")


def check_seconds(seconds: object) -> None:
    """Pass a time limit.

    Raises:
        InvalidRequest: it is not a number of seconds, positive and at most a day.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _CALL_SECONDS_MOST:
        raise _refusal("/call_seconds", f"must be a positive number, at most {_CALL_SECONDS_MOST}")


def plain_path(path: object) -> str:
    """Return a path of a file as SQLite gets it: absolute, and without symbolic links.

    Raises:
        InvalidRequest: it is no path.
        StoreUnsafe: it names something that is not kept in a file.
        StoreUnavailable: nothing can be opened there.
    """
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise _refusal("/path", "must be a path as text")
    if name in {"", ":memory:"} or name.startswith("file:"):
        raise StoreUnsafe("A path of a file is needed; MemoryEventStore keeps streams in memory.")
    if "\0" in name:
        raise StoreUnavailable("A path has no U+0000.")
    try:
        resolved = str(Path(name).resolve())
        resolved.encode()
    except UnicodeEncodeError:
        raise StoreUnavailable("The path is not Unicode text.") from None
    except (OSError, RuntimeError) as error:
        raise StoreUnavailable("The path leads nowhere.") from error
    return resolved


def _check_count(count: object, most: int, place: str) -> None:
    if type(count) is not int or not 1 <= count <= most:
        raise _refusal(place, f"must be an integer from 1 to {most}")


def _refusal(place: str, message: str) -> InvalidRequest:
    return InvalidRequest(issues=[Issue(place, "parameter", message)])
