"""The world outside: an airline that knows nothing of PauseMesh and books whenever it is told to."""

import dataclasses
import json
import os
import secrets
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """A seat that was sold, under the customer's own reference."""

    reference: str
    flight: str
    ticket: str


class Airline:
    """Keeps its book in a file that only grows; two equal calls are two bookings.

    Args:
        path: of the file; made by the first booking.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def book(self, *, reference: str, flight: str) -> Booking:
        """Sell a seat; once this returns, the booking survives a crash."""
        booking = Booking(reference=reference, flight=flight, ticket=f"{flight}-{secrets.token_hex(3)}")
        line = json.dumps(dataclasses.asdict(booking)) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return booking

    def bookings(self, reference: str) -> tuple[Booking, ...]:
        """Return what was booked under a reference, oldest first."""
        if not self._path.exists():
            return ()
        # What follows the last line's end is still being written, so it is no booking yet.
        lines = self._path.read_bytes().split(b"\n")[:-1]
        booked = (Booking(**json.loads(line)) for line in lines)
        return tuple(booking for booking in booked if booking.reference == reference)
