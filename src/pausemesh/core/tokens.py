"""The form of a credential: a prefix, 43 base62 characters of 256 random bits, and 6 of their CRC-32.

A resume token begins with ``pmr_``, an API key with ``pmk_``. The prefix lets secret scanners find a leaked one, the
checksum finds a mistyped one without a look-up. Only the SHA-256 of it is ever stored. Drawing the bits is the Tokens
port's work.
"""

import hashlib
import hmac
import re
import zlib
from typing import Final

PREFIX: Final = "pmr_"
KEY_PREFIX: Final = "pmk_"
ENTROPY_BYTES: Final = 32
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS: Final = tuple(high + low for high in _ALPHABET for low in _ALPHABET)
_TWOS: Final = len(_PAIRS)
_FOURS: Final = _TWOS**2
_ENTROPY_CHARACTERS: Final = 43
_CHECKSUM_CHARACTERS: Final = 6
_FORM: Final = re.compile(rf"[0-9A-Za-z]{{{_ENTROPY_CHARACTERS + _CHECKSUM_CHARACTERS}}}")


def format_token(entropy: bytes, prefix: str = PREFIX) -> str:
    """Write 32 random bytes as a token of 53 URL-safe characters.

    Raises:
        ValueError: it is not 32 bytes.
    """
    if len(entropy) != ENTROPY_BYTES:
        message = "a token has 32 bytes of entropy"
        raise ValueError(message)
    body = _base62(int.from_bytes(entropy), _ENTROPY_CHARACTERS)
    return prefix + body + _checksum(body)


def is_well_formed(token: object, prefix: str = PREFIX) -> bool:
    """Tell whether this can be a token: its prefix, its form and its checksum are right."""
    if not isinstance(token, str) or not token.startswith(prefix) or not _FORM.fullmatch(token, len(prefix)):
        return False
    body = token[len(prefix) : -_CHECKSUM_CHARACTERS]
    return token.endswith(_checksum(body))


def hash_token(token: str) -> bytes:
    """Return the SHA-256 of a well-formed token, 32 bytes: the only thing of it that is stored."""
    return hashlib.sha256(token.encode("ascii")).digest()


def same_hash(one: bytes | None, other: bytes | None) -> bool:
    """Compare two token hashes in constant time; an absent one equals nothing."""
    return hmac.compare_digest(one or b"", other or b"") and bool(one)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode("ascii")), _CHECKSUM_CHARACTERS)


def _base62(number: int, characters: int) -> str:
    text = ""
    while len(text) < characters:
        # Divisors of one machine digit are the cheap ones, and half of all divisions are of small numbers.
        number, four = divmod(number, _FOURS)
        text = _PAIRS[four // _TWOS] + _PAIRS[four % _TWOS] + text
    return text[-characters:]
