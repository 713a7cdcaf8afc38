"""Draws resume tokens."""

import secrets

from pausemesh.core.tokens import ENTROPY_BYTES, format_token


class Sha256TokenIssuer:
    """Issues tokens of 256 random bits, of which only the SHA-256 is ever stored."""

    def issue(self) -> str:
        """Return a new token."""
        return format_token(secrets.token_bytes(ENTROPY_BYTES))
