"""Parameters as PostgreSQL reads them in its binary format, and times as it writes them.

Each parameter has a type of its own in the statement, whatever its value is: one that is NULL, or whose integer is
small, would otherwise look like another type, and the statement would be prepared again.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from pausemesh.core.errors import StoreCorrupt
from pausemesh.stores.rows import BEFORE_ALL_TIMES, EARLIEST, LATEST

Parameter = bytes | None
"""A value in the binary format of its type; None is NULL."""

_SINCE_2000: Final = 946_684_800_000_000
"""PostgreSQL counts microseconds from 2000, everything else here from 1970."""

_INT4: Final = struct.Struct("!i").pack
_INT8: Final = struct.Struct("!q").pack
_LENGTH: Final = struct.Struct("!i").pack
_HEADER: Final = struct.Struct("!iiIii").pack
_NULL: Final = _LENGTH(-1)
_TRUE: Final = b"\x01"
_FALSE: Final = b"\x00"

# Their numbers in pg_type are part of the protocol and never change.
_OID_OF_BOOL: Final = 16
_OID_OF_BYTEA: Final = 17
_OID_OF_INT8: Final = 20
_OID_OF_INT4: Final = 23
_OID_OF_TEXT: Final = 25
_OID_OF_TIMESTAMPTZ: Final = 1184
_OID_OF_UUID: Final = 2950


def text(value: str | None) -> Parameter:
    """Return a text."""
    return None if value is None else value.encode()


def integer(value: int) -> Parameter:
    """Return an integer of 32 bits."""
    return _INT4(value)


def bigint(value: int | None) -> Parameter:
    """Return an integer of 64 bits."""
    return None if value is None else _INT8(value)


def boolean(value: object) -> Parameter:
    """Return whether a value is true."""
    return _TRUE if value else _FALSE


def timestamptz(micros: int | None) -> Parameter:
    """Return a time; one before all times is PostgreSQL's own."""
    if micros is None:
        return None
    return _INT8(micros if micros == BEFORE_ALL_TIMES else micros - _SINCE_2000)


def bytea(value: bytes | None) -> Parameter:
    """Return bytes as they are."""
    return value


def uuid(value: UUID) -> Parameter:
    """Return an id."""
    return value.bytes


def texts(values: Iterable[str | None]) -> Parameter:
    """Return an array of texts."""
    return _array(_OID_OF_TEXT, [None if value is None else value.encode() for value in values])


def integers(values: Iterable[int]) -> Parameter:
    """Return an array of integers of 32 bits."""
    return _array(_OID_OF_INT4, [_INT4(value) for value in values])


def bigints(values: Iterable[int | None]) -> Parameter:
    """Return an array of integers of 64 bits."""
    return _array(_OID_OF_INT8, [None if value is None else _INT8(value) for value in values])


def booleans(values: Iterable[object]) -> Parameter:
    """Return an array of truth values."""
    return _array(_OID_OF_BOOL, [_TRUE if value else _FALSE for value in values])


def byteas(values: Iterable[bytes | None]) -> Parameter:
    """Return an array of bytes."""
    return _array(_OID_OF_BYTEA, list(values))


def timestamptzs(values: Iterable[int | None]) -> Parameter:
    """Return an array of times in microseconds since 1970."""
    return _array(_OID_OF_TIMESTAMPTZ, [timestamptz(value) for value in values])


def uuids(values: Iterable[UUID | None]) -> Parameter:
    """Return an array of ids."""
    return _array(_OID_OF_UUID, [None if value is None else value.bytes for value in values])


def micros_of(stored: int) -> int:
    """Return the microseconds since 1970 of a stored time.

    Raises:
        StoreCorrupt: it lies outside the years 1 to 9999.
    """
    micros = stored + _SINCE_2000
    if not EARLIEST <= micros <= LATEST:
        raise StoreCorrupt("A stored time lies outside the years 1 to 9999.")
    return micros


def maybe_micros_of(stored: int | None) -> int | None:
    """Return the same of a time that may be missing."""
    return None if stored is None else micros_of(stored)


def _array(oid: int, elements: Sequence[bytes | None]) -> Parameter:
    """Return an array of one dimension; one without any value is NULL, which ``unnest`` pads as far as needed."""
    parts = [_NULL if element is None else _LENGTH(len(element)) + element for element in elements]
    has_null = _NULL in parts
    if (has_null and parts.count(_NULL) == len(parts)) or not parts:
        return None
    return _HEADER(1, has_null, oid, len(parts), 1) + b"".join(parts)
