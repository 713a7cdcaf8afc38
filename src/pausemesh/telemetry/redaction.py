"""What may be logged: an allow-list of members, and in their texts nothing that looks like a credential.

A member that is not on the list is dropped, whatever its name, so that no payload, token, answer or metadata value gets
out by mistake.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from structlog.typing import EventDict, WrappedLogger

ALLOWED: Final = (
    "timestamp",
    "level",
    "logger",
    "event",
    "request_id",
    "method",
    "route",
    "status",
    "milliseconds",
    "dropped",
    "code",
    "noun",
    "noun_id",
    "version",
    "principal",
    "role",
    "scope",
    "client",
    "error",
    "frames",
)
"""The members of a line, in the order in which they are written."""

MASK: Final = "***"
TEXT_CHARACTERS: Final = 500
FRAMES: Final = 32

_CREDENTIALS: Final = re.compile(
    r"pm[a-z]_[0-9A-Za-z_-]+"  # a token or a key of ours, also inside a word
    r"|\b(?:bearer|pausemesh|basic)[ \t]+\S+"  # the value of an Authorization header
    r"|\b(?:authorization|x-api-key|cookie|set-cookie)\b[\"']?\s*[:=].*",  # such a header, with all that follows
    re.IGNORECASE | re.DOTALL,
)


def redact(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """Keep of a record what may be logged; a processor for structlog.

    Members that begin with an underscore are structlog's own, which it takes out again before anything is written.
    """
    own = {name: value for name, value in record.items() if name.startswith("_")}
    return own | redacted(record)


def redacted(record: Mapping[str, object]) -> dict[str, object]:
    """Return the members that may be logged, without those that are None; texts are masked, escaped and cut."""
    present = {name: record[name] for name in ALLOWED if record.get(name) is not None}
    return {name: _frames(value) if name == "frames" else _plain(value) for name, value in present.items()}


def masked(text: str) -> str:
    """Return a text without what looks like a credential, with visible escapes for what does not print.

    It is masked before it is cut to TEXT_CHARACTERS, so that no half of a token is left.
    """
    hidden = _CREDENTIALS.sub(MASK, text)
    shown = hidden if hidden.isprintable() else "".join(map(_visible, hidden))
    return shown if len(shown) <= TEXT_CHARACTERS else shown[:TEXT_CHARACTERS] + "…"


def _plain(value: object) -> object:
    """Return a number as it is and a text as it may be shown; of anything else only its type."""
    if isinstance(value, bool | int | float):
        return value
    return masked(value) if isinstance(value, str) else type(value).__name__


def _frames(value: object) -> list[object]:
    """Return the innermost places of a list of them."""
    places = list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
    return [_plain(place) for place in places[-FRAMES:]]


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the basic plane
