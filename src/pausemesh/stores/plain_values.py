"""Which values a store takes: of the very type that was said, since a subclass may be changeable or odd."""

from datetime import UTC, datetime
from typing import Final

INTEGER_BELOW: Final = 2**63


def is_a(value: object, kind: type) -> bool:
    """Tell whether a value has this very type."""
    return type(value) is kind


def is_name(value: object) -> bool:
    """Tell whether this is text that is not empty and that every store can keep."""
    return type(value) is str and value != "" and is_text(value)


def is_text(value: object) -> bool:
    """Tell whether this is None, or text that every store can keep: without U+0000 and lone surrogates."""
    if value is None:
        return True
    if type(value) is not str or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def is_count(value: object) -> bool:
    """Tell whether this is an integer from 0 that fits into 64 bits."""
    return type(value) is int and 0 <= value < INTEGER_BELOW


def is_time(value: object) -> bool:
    """Tell whether this is a time with a zone that can be told in UTC as well."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        return False
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True
