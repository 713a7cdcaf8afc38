"""A list's position as opaque text that nobody can forge or carry to another list."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from pausemesh.core.canonical import canonical_bytes, decode_canonical
from pausemesh.core.errors import InvalidCursor
from pausemesh.core.values import JsonValue

_TAG_BYTES: Final = 16
_CURSOR_CHARACTERS: Final = 2_048


def write_cursor(keys: Sequence[bytes], listing: JsonValue, position: JsonValue) -> str:
    """Return the position in the list that ``listing`` (its scope and filters) names, URL-safe; the first key signs."""
    body = canonical_bytes(position)
    return _text(_tag(keys[0], listing, body) + body)


def read_cursor(keys: Sequence[bytes], listing: JsonValue, cursor: str) -> JsonValue:
    """Return the position again.

    Raises:
        InvalidCursor: a character was changed, none of the keys signed it, or it is another list's.
    """
    try:
        if len(cursor) > _CURSOR_CHARACTERS:
            raise InvalidCursor
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InvalidCursor from None
    tag, body = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
    if not any(hmac.compare_digest(tag, _tag(key, listing, body)) for key in keys):
        raise InvalidCursor
    try:
        position = decode_canonical(body)
    except ValueError:
        raise InvalidCursor from None
    if _text(tag + canonical_bytes(position)) != cursor:
        raise InvalidCursor
    return position


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _tag(key: bytes, listing: JsonValue, body: bytes) -> bytes:
    return hmac.digest(key, canonical_bytes(listing) + b"\n" + body, hashlib.sha256)[:_TAG_BYTES]
