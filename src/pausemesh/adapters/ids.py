"""Time-ordered ids: 48 bits of milliseconds, then randomness."""

import os
import random
import time
from typing import Final
from uuid import UUID

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = tuple(high + low for high in _ALPHABET for low in _ALPHABET)
_PAIRS_PER_ID: Final = 13
_RANDOM_BITS: Final = 74
_VERSION_7: Final = 7
_VARIANT: Final = 0b10

_RANDOM: Final = random.Random()  # noqa: S311 - ids are unique, not secret
os.register_at_fork(after_in_child=_RANDOM.seed)


class TimeOrderedIds:
    """Draws ids that sort by the millisecond in which they were drawn."""

    def event_id(self) -> UUID:
        """Return a UUID of version 7 (RFC 9562, section 5.7)."""
        milliseconds, random_bits = _draw()
        high, low = random_bits >> 62, random_bits & ((1 << 62) - 1)
        return UUID(int=milliseconds << 80 | _VERSION_7 << 76 | high << 64 | _VARIANT << 62 | low)

    def new(self, prefix: str) -> str:
        """Return ``prefix``, an underscore, and 26 characters of Crockford's base32."""
        milliseconds, random_bits = _draw()
        number = milliseconds << _RANDOM_BITS | random_bits
        pairs = [_PAIRS[number >> shift & 0x3FF] for shift in range(10 * (_PAIRS_PER_ID - 1), -1, -10)]
        return f"{prefix}_{''.join(pairs)}"


def _draw() -> tuple[int, int]:
    return time.time_ns() // 1_000_000, _RANDOM.getrandbits(_RANDOM_BITS)
