"""A clock that can run ahead of the true time."""

from datetime import UTC, datetime, timedelta


class AheadClock:
    """The system's time plus what it was put ahead by; so a lease lapses without anybody waiting.

    Attributes:
        ahead: by how much.
    """

    def __init__(self, ahead: timedelta = timedelta(0)) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        """Return the time that it shows."""
        return datetime.now(UTC) + self.ahead
