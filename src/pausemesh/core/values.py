"""Small values that every noun shares: JSON, ids, times as text, and content digests."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias, Union

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue

JsonValue: TypeAlias = Union[bool, int, float, str, list["JsonValue"], dict[str, "JsonValue"], None]  # noqa: UP007 - quoted recursion takes no |
"""Plain JSON as Python has it: exact types, no subclasses."""

JsonInput: TypeAlias = Union[bool, int, float, str, Sequence["JsonInput"], Mapping[str, "JsonInput"], None]  # noqa: UP007 - as above
"""What callers may hand in without a checker's complaint; at run time it must be plain JSON all the same."""

SCHEMA_VERSION: Final = 1
"""The version of every event and envelope that this release writes."""

_CREDENTIAL: Final = re.compile(r"pm[rk]_[0-9A-Za-z]{16}")
"""What begins like a resume token or an API key: ids are shown, logged and put into URLs."""

_OWN_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._:~@-]{0,198}[A-Za-z0-9._:~@-])?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_own_id(value: object, path: str) -> str:
    """Return ``value`` where it is an id of ours; refused, never trimmed.

    1 to 200 of ``A-Z a-z 0-9 space . _ : ~ @ -``, the first a letter or digit, no blank at either edge.

    Raises:
        InvalidRequest: it is anything else, or looks like a credential; ``path`` is the JSON Pointer of the member.
    """
    if isinstance(value, str) and _OWN_ID.fullmatch(value):
        return _no_credential(str.__str__(value), path)
    raise InvalidRequest(issues=[Issue(path, "id", "must be 1 to 200 of A-Z a-z 0-9 . _ : ~ @ - and inner blanks")])


def check_foreign_id(value: object, path: str) -> str:
    """Return ``value`` where it can be somebody else's id: 1 to 200 characters, no control characters.

    Raises:
        InvalidRequest: it is anything else, or looks like a credential; ``path`` is the JSON Pointer of the member.
    """
    return _no_credential(check_text(value, path, limits.FOREIGN_ID_CHARACTERS, least=1), path)


def _no_credential(value: str, path: str) -> str:
    if _CREDENTIAL.search(value):
        raise InvalidRequest(issues=[Issue(path, "credential", "looks like a credential, and an id is no secret")])
    return value


def check_text(value: object, path: str, most: int, *, least: int = 0) -> str:
    """Return ``value`` where it is text of ``least`` to ``most`` characters without control characters.

    Raises:
        InvalidRequest: it is anything else; ``path`` is the JSON Pointer of the member.
    """
    if isinstance(value, str) and least <= len(value) <= most and not _CONTROL.search(value):
        return str.__str__(value)
    message = f"must be {least} to {most} characters without control characters"
    raise InvalidRequest(issues=[Issue(path, "text", message)])


def check_aware(value: object, path: str) -> datetime:
    """Return ``value`` as UTC, cut to whole milliseconds, where it is a datetime with a zone.

    Raises:
        InvalidRequest: it is naive or no datetime; ``path`` is the JSON Pointer of the member.
    """
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidRequest(issues=[Issue(path, "time", "must be a time with a zone")])
    try:
        return cut_to_milliseconds(value.astimezone(UTC))
    except OverflowError:
        raise InvalidRequest(issues=[Issue(path, "time", "must be within the years 1 to 9999 of UTC")]) from None


def cut_to_milliseconds(value: datetime) -> datetime:
    """Return ``value`` without what its text form cannot hold."""
    return value.replace(microsecond=value.microsecond // 1_000 * 1_000)


def time_to_text(value: datetime) -> str:
    """Write a UTC time as ISO 8601 with milliseconds and ``Z`` (RFC 3339)."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_from_text(value: str) -> datetime:
    """Read what ``time_to_text`` wrote.

    Raises:
        ValueError: it is not such a text.
    """
    parsed = datetime.fromisoformat(value)
    if parsed.utcoffset() is None or not value.endswith("Z"):
        message = "not a UTC time"
        raise ValueError(message)
    return parsed
