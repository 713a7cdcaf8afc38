"""A clock that stands still until it is moved."""

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A ``Clock`` for tests: it shows the time it was given; any thread may read it."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the time it was moved to."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move it by so much; backwards too, as clocks do."""
        self._now += by

    def set(self, now: datetime) -> None:
        """Move it to a time with a zone."""
        self._now = now
