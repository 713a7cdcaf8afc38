"""Times of the wire as a person says them: how old, and how long still."""

from datetime import datetime, timedelta
from typing import Final

from pausemesh.core.values import time_from_text

_UNITS: Final = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
)
_WORTH_TWO: Final = 10
_URGENT: Final = timedelta(minutes=10)
_SOON: Final = timedelta(hours=1)
UNKNOWN: Final = "?"


def age(at: str, now: datetime) -> str:
    """Return how long ago a time of the wire was; a clock that is ahead makes nothing younger than now."""
    moment = _moment(at)
    return UNKNOWN if moment is None else _span(max(now - moment, timedelta(0)))


def time_left(at: str | None, now: datetime) -> str:
    """Return how long it is until a time of the wire; without one there is no end."""
    if at is None:
        return "no end"
    moment = _moment(at)
    if moment is None:
        return UNKNOWN
    return "over" if moment <= now else _span(moment - now)


def urgency(at: str | None, now: datetime) -> str:
    """Return the style in which the time left is shown."""
    moment = None if at is None else _moment(at)
    if moment is None:
        return ""
    return "red" if moment - now < _URGENT else "yellow" if moment - now < _SOON else ""


def _moment(at: str) -> datetime | None:
    try:
        return time_from_text(at)
    except ValueError:
        return None


def _span(span: timedelta) -> str:
    """Write the largest unit, and where there are few of it the next one too."""
    for index, (name, unit) in enumerate(_UNITS):
        count, rest = divmod(span, unit)
        if count == 0:
            continue
        if count < _WORTH_TWO and index + 1 < len(_UNITS):
            smaller, of = _UNITS[index + 1]
            if few := rest // of:
                return f"{count} {name} {few} {smaller}"
        return f"{count} {name}"
    return "0 s"
