"""The system's clock."""

from datetime import UTC, datetime


class SystemClock:
    """Reads the time of this machine."""

    def now(self) -> datetime:
        """Return the present time in UTC."""
        return datetime.now(UTC)
