"""What a server's refusal comes to, and what is said where no whole answer came."""

import re
from typing import Final

from pausemesh.cli.refusal import Refused
from pausemesh.core.values import JsonValue

_SUCCESS: Final = range(200, 300)
_SERVER_ERROR: Final = 500
_CLEAR_SERVER_ERRORS: Final = frozenset({"STORE_UNAVAILABLE", "OVERLOADED", "STORE_FULL", "OUTCOME_UNKNOWN"})
"""Codes that say of a request that failed inside of the server whether it may have been done."""

_SECONDS: Final = re.compile(r"[0-9]{1,6}")


def unreachable() -> Refused:
    """Return what is said where no connection was made."""
    return Refused({"title": "The server cannot be reached; nothing was sent.", "code": "SERVER_UNAVAILABLE"})


def no_pausemesh() -> Refused:
    """Return what is said where a success is none that PauseMesh gives."""
    return Refused({"title": "This is no PauseMesh server; is PAUSEMESH_URL right?", "code": "NOT_PAUSEMESH"})


def lost(*, changes: bool) -> Refused:
    """Return what is said where a request was sent and no whole answer came back."""
    if changes:
        title = "The server's answer was lost; the same request, with its key or reason, settles it."
        return Refused({"title": title, "code": "OUTCOME_UNKNOWN"})
    return Refused({"title": "The server's answer was lost.", "code": "SERVER_UNAVAILABLE"})


def refusal_of(status: int, content: JsonValue, retry_after: str | None, *, changes: bool) -> Refused:
    """Return what the answer of a server means that is no success."""
    code = content.get("code") if isinstance(content, dict) else None
    if changes and (status in _SUCCESS or status >= _SERVER_ERROR) and code not in _CLEAR_SERVER_ERRORS:
        return lost(changes=True)
    seconds = float(retry_after) if retry_after is not None and _SECONDS.fullmatch(retry_after) else None
    if isinstance(content, dict) and isinstance(code, str):
        return Refused({**content, "status": status}, retry_seconds=seconds)
    title = f"The server gave an answer that is none of PauseMesh's, with status {status}; is PAUSEMESH_URL right?"
    return Refused({"title": title, "status": status, "code": f"HTTP_{status}"}, retry_seconds=seconds)
