"""A list's position as opaque text that nobody can forge or carry to another list."""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from pausemesh.core.canonical import canonical_bytes, decode_canonical
from pausemesh.core.errors import InvalidCursor
from pausemesh.core.values import JsonValue

_TAG_BYTES: Final = 16
_CURSOR_CHARACTERS: Final = 2_048


def write_cursor(key: bytes, listing: JsonValue, position: JsonValue) -> str:
    """Return the position in the list that ``listing`` (its scope and filters) names, URL-safe."""
    body = canonical_bytes(position)
    return base64.urlsafe_b64encode(_tag(key, listing, body) + body).decode("ascii").rstrip("=")


def read_cursor(key: bytes, listing: JsonValue, cursor: str) -> JsonValue:
    """Return the position again.

    Raises:
        InvalidCursor: a character was changed, or it is another list's.
    """
    try:
        if len(cursor) > _CURSOR_CHARACTERS:
            raise InvalidCursor
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InvalidCursor from None
    tag, body = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(key, listing, body)):
        raise InvalidCursor
    try:
        position = decode_canonical(body)
    except ValueError:
        raise InvalidCursor from None
    if write_cursor(key, listing, position) != cursor:
        raise InvalidCursor
    return position


def _tag(key: bytes, listing: JsonValue, body: bytes) -> bytes:
    return hmac.digest(key, canonical_bytes(listing) + b"\n" + body, hashlib.sha256)[:_TAG_BYTES]
