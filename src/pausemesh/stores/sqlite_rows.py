"""Rows as a SQLite file gives them: whatever a damaged one holds in a column, it becomes a row of ours or StoreCorrupt.

SQLite compares a value with its column's type when it is written, and never when it is read.
"""

import functools
from typing import Any, Final, NamedTuple, TypeAlias

import apsw

from pausemesh.core.errors import StoreCorrupt
from pausemesh.stores.batch import EventMark
from pausemesh.stores.rows import EARLIEST, LATEST, AuditLogRow, Bindings, EventRow, HeadRow

Row: TypeAlias = tuple[Any, ...]
_ID_BYTES: Final = 16
_MOST: Final = 2**63 - 1


class _Column(NamedTuple):
    """What a column can hold: values of these types, and of integers those within a range."""

    kinds: tuple[type, ...]
    range: tuple[int, int] | None = None
    is_id: bool = False


class _Columns(NamedTuple):
    """The same of a row, by the places of what is looked at, since each row that is read comes past here."""

    kinds: tuple[tuple[type, ...], ...]
    ranges: tuple[tuple[int, int, int], ...]
    ids: tuple[int, ...]


def _columns(*columns: _Column) -> _Columns:
    return _Columns(
        tuple([column.kinds for column in columns]),
        tuple([(index, *column.range) for index, column in enumerate(columns) if column.range is not None]),
        tuple([index for index, column in enumerate(columns) if column.is_id]),
    )


_NONE: Final = type(None)
_TEXT: Final = _Column((str,))
_TEXT_OR_NONE: Final = _Column((str, _NONE))
_BYTES: Final = _Column((bytes,))
_BYTES_OR_NONE: Final = _Column((bytes, _NONE))
_ID: Final = _Column((bytes,), is_id=True)
_FLAG: Final = _Column((int,), (0, 1))
_COUNT: Final = _Column((int,), (0, _MOST))
_POSITIVE: Final = _Column((int,), (1, _MOST))
_TIME: Final = _Column((int,), (EARLIEST, LATEST))
_TIME_OR_NONE: Final = _Column((int, _NONE), (EARLIEST, LATEST))

_HEAD: Final = _columns(
    *(_TEXT, _TEXT, _POSITIVE, _TEXT, _TEXT, _FLAG, _TEXT),
    *(_TEXT_OR_NONE, _TEXT_OR_NONE, _TEXT_OR_NONE, _BYTES_OR_NONE),
    *(_TIME_OR_NONE, _TIME, _TIME),
    *(_TEXT_OR_NONE, _COUNT, _TIME_OR_NONE, _TIME_OR_NONE, _COUNT),
)
_EVENT: Final = _columns(_POSITIVE, _TEXT, _TEXT, _POSITIVE, _ID, _TEXT, _TIME, _BYTES)
_MARK: Final = _columns(_POSITIVE, _ID, _TIME)
_AUDIT: Final = _columns(_TEXT, _TIME, _ID, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT_OR_NONE, _TEXT_OR_NONE)
_CLAIM: Final = _columns(_TEXT, _COUNT, _COUNT)
_BEAT: Final = _columns(_TIME)
_LAST_SEQ: Final = _columns(_Column((int, _NONE), (0, _MOST)))
_NAME: Final = _columns(_TEXT, _TEXT)
_MIGRATION: Final = _columns(_POSITIVE, _TEXT)


def fetch(cursor: apsw.Cursor, sql: str, bindings: Bindings = ()) -> list[Row]:
    """Run a statement and return all its rows.

    Raises:
        StoreCorrupt: a text is not UTF-8.
    """
    try:
        return cursor.execute(sql, bindings).fetchall()
    except UnicodeDecodeError:
        # Not chained: that error carries the text.
        raise StoreCorrupt("A stored text is not UTF-8.") from None


def head_of(row: Row) -> HeadRow:
    """Return a row of ``heads``."""
    return HeadRow._make(_checked(row, _HEAD))


def event_of(row: Row) -> EventRow:
    """Return a row of ``events``."""
    return EventRow._make(_checked(row, _EVENT))


def name_of(row: Row) -> tuple[str, str]:
    """Return a scope and a stream."""
    scope, stream = _checked(row, _NAME)
    return scope, stream


def mark_of(row: Row) -> EventMark:
    """Return the columns of ``events`` that make a mark."""
    return EventMark._make(_checked(row, _MARK))


def audit_row_of(row: Row) -> AuditLogRow:
    """Return a row of ``audit_log``."""
    return AuditLogRow._make(_checked(row, _AUDIT))


def claim_of(row: Row) -> tuple[str, int, int]:
    """Return a name, the fence and the attempts, as a changed claim gives them back."""
    name, fence, attempts = _checked(row, _CLAIM)
    return name, fence, attempts


def time_of(row: Row) -> int:
    """Return the one column of a row, a time."""
    (time,) = _checked(row, _BEAT)
    return int(time)


def count_of(row: Row) -> int:
    """Return the one column of a row, a count; none is 0."""
    (count,) = _checked(row, _LAST_SEQ)
    return count or 0


def migration_of(row: Row) -> tuple[int, str]:
    """Return the columns of ``migrations`` that are compared."""
    number, checksum = _checked(row, _MIGRATION)
    return number, checksum


def _checked(row: Row, columns: _Columns) -> Row:
    fits = _have_kinds(tuple(map(type, row)), columns.kinds)
    for index, least, most in columns.ranges if fits else ():
        value = row[index]
        fits = fits and (value is None or least <= value <= most)
    for index in columns.ids if fits else ():
        fits = fits and len(row[index]) == _ID_BYTES
    if not fits:
        raise StoreCorrupt("A column holds what it cannot hold.")
    return row


@functools.lru_cache(maxsize=256)
def _have_kinds(found: tuple[type, ...], kinds: tuple[tuple[type, ...], ...]) -> bool:
    return len(found) == len(kinds) and all(one in kind for one, kind in zip(found, kinds, strict=True))
