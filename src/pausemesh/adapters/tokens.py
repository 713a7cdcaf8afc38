"""Draws resume tokens and API keys."""

import os
import secrets
from typing import Final

from pausemesh.core.tokens import ENTROPY_BYTES, PREFIX, format_token

_TOKENS_PER_DRAW: Final = 64


class Sha256TokenIssuer:
    """Issues tokens of 256 random bits, of which only the SHA-256 is ever stored.

    The bits of some tokens are drawn at once, since asking the system costs more than using them; a forked child
    draws its own.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._entropy = b""

    def issue(self, prefix: str = PREFIX) -> str:
        """Return a new token, or a new key where the prefix is a key's."""
        if len(self._entropy) < ENTROPY_BYTES or self._pid != os.getpid():
            self._pid = os.getpid()
            self._entropy = secrets.token_bytes(ENTROPY_BYTES * _TOKENS_PER_DRAW)
        drawn, self._entropy = self._entropy[:ENTROPY_BYTES], self._entropy[ENTROPY_BYTES:]
        return format_token(drawn, prefix)
