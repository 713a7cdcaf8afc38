"""Sending a request again, under its key, until its outcome is known."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.refusal import Refused, refused
from pausemesh.core.errors import PauseMeshError

ResultT = TypeVar("ResultT")

TRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0
_WORTH_ANOTHER_TRY: Final = frozenset(
    {"STORE_UNAVAILABLE", "OVERLOADED", "RATE_LIMITED", "OUTCOME_UNKNOWN", "SERVER_UNAVAILABLE"}
)


def settle(request: Callable[[], ResultT], *, pause: Callable[[float], object] = time.sleep) -> ResultT:
    """Return what the request gives, after up to five tries; it must be one that may be repeated.

    Raises:
        Refused: it was refused for good, or is still unavailable; with OUTCOME_UNKNOWN where any try may have counted.
    """
    doubt: Refused | None = None
    seconds = _FIRST_PAUSE_SECONDS
    for left in reversed(range(TRIES)):
        try:
            return request()
        except (PauseMeshError, Refused) as error:
            refusal = refused(error) if isinstance(error, PauseMeshError) else error
            doubt = refusal if refusal.exit is Exit.UNKNOWN else doubt
            if refusal.code not in _WORTH_ANOTHER_TRY:
                raise refusal from None
            if not left:
                raise doubt or refusal from None
        pause(min(refusal.retry_seconds or seconds, _LONGEST_PAUSE_SECONDS))
        seconds *= 2
    raise AssertionError("the last try returns or raises")
