"""Time-ordered ids: 48 bits of milliseconds, then randomness."""

import secrets
import time
from typing import Final
from uuid import UUID

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_CHARACTERS: Final = 26
_RANDOM_BITS: Final = 74
_VERSION_7: Final = 7
_VARIANT: Final = 0b10


class TimeOrderedIds:
    """Draws ids that sort by the millisecond in which they were drawn."""

    def event_id(self) -> UUID:
        """Return a UUID of version 7 (RFC 9562, section 5.7)."""
        milliseconds, random = _draw()
        high, low = random >> 62, random & ((1 << 62) - 1)
        return UUID(int=milliseconds << 80 | _VERSION_7 << 76 | high << 64 | _VARIANT << 62 | low)

    def new(self, prefix: str) -> str:
        """Return ``prefix``, an underscore, and 26 characters of Crockford's base32."""
        milliseconds, random = _draw()
        number = milliseconds << _RANDOM_BITS | random
        digits = []
        for _ in range(_CHARACTERS):
            number, digit = number >> 5, number & 31
            digits.append(_ALPHABET[digit])
        return f"{prefix}_{''.join(reversed(digits))}"


def _draw() -> tuple[int, int]:
    return time.time_ns() // 1_000_000, secrets.randbits(_RANDOM_BITS)
