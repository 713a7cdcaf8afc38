"""What the command's exit code says; help, docs and code have it from here."""

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


class Exit(enum.IntEnum):
    """How a command ended."""

    FINE = 0
    USAGE = 1
    NOT_FOUND = 3
    CONFLICT = 4
    INVALID_ANSWER = 5
    REFUSED = 6
    UNAVAILABLE = 7
    UNKNOWN = 8
    UNSOUND = 9
    NOT_CONFIRMED = 130


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a code tells a person, and which codes of errors lead to it."""

    text: str
    errors: tuple[str, ...] = ()


MEANINGS: Final[Mapping[Exit, Meaning]] = MappingProxyType(
    {
        Exit.FINE: Meaning(text="it is done, or was done before by the same request"),
        Exit.USAGE: Meaning(
            text="the words make no command or no request; nothing was changed",
            errors=(
                "INVALID_REQUEST",
                "INVALID_JSON",
                "IDEMPOTENCY_KEY_REQUIRED",
                "IDEMPOTENCY_KEY_INVALID",
                "INVALID_CURSOR",
                "PAYLOAD_TOO_LARGE",
                "SCHEMA_NOT_ALLOWED",
                "WAIT_TIMEOUT",
                "FORKED_MESH",
                "EFFECT_FAILED",
                "PAUSEMESH_ERROR",
            ),
        ),
        Exit.NOT_FOUND: Meaning(
            text="there is no such thing in this scope",
            errors=("NOT_FOUND", "CONTINUATION_NOT_FOUND", "CLAIM_NOT_FOUND"),
        ),
        Exit.CONFLICT: Meaning(
            text="decided otherwise, not what was shown, or the key was used before",
            errors=(
                "CONFLICT",
                "TOKEN_ALREADY_USED",
                "CONTINUATION_CANCELLED",
                "CONTINUATION_EXPIRED",
                "INVALID_TRANSITION",
                "VERSION_CONFLICT",
                "CONTINUATION_EXISTS",
                "OWNED",
                "OWNED_BY_TASK",
                "DIGEST_MISMATCH",
                "ACTION_MISMATCH",
                "CLAIM_HELD",
                "LEASE_LOST",
                "EFFECT_UNKNOWN",
                "EFFECT_CONFLICT",
                "IDEMPOTENCY_CONFLICT",
            ),
        ),
        Exit.INVALID_ANSWER: Meaning(
            text="the answer does not match its schema; the question is still open",
            errors=("ANSWER_INVALID", "ANSWER_MISMATCH"),
        ),
        Exit.REFUSED: Meaning(
            text="the role does not allow it, or the API key is not accepted",
            errors=("FORBIDDEN", "TOKEN_MISMATCH", "UNAUTHENTICATED"),
        ),
        Exit.UNAVAILABLE: Meaning(
            text="database, server or output cannot be used; nothing was changed",
            errors=(
                "STORE_ERROR",
                "STORE_UNAVAILABLE",
                "OVERLOADED",
                "RATE_LIMITED",
                "STORE_FULL",
                "STREAM_TOO_LONG",
                "STORE_CORRUPT",
                "UNKNOWN_SCHEMA_VERSION",
                "STORE_UNSAFE",
                "SCHEMA_ERROR",
                "SCHEMA_MISSING",
                "SCHEMA_CHANGED",
                "SCHEMA_NEWER",
                "SCHEMA_INCOMPLETE",
                "INTERNAL_ERROR",
                "SERVER_UNAVAILABLE",
                "NOT_PAUSEMESH",
                "OUTPUT_UNAVAILABLE",
            ),
        ),
        Exit.UNKNOWN: Meaning(
            text="perhaps recorded; the same again, with its key or reason, settles it",
            errors=("OUTCOME_UNKNOWN",),
        ),
        Exit.UNSOUND: Meaning(text="what was checked is not as it must be; the output says what"),
        Exit.NOT_CONFIRMED: Meaning(text="interrupted, or not confirmed; nothing was sent"),
    }
)

_OF_ERROR: Final = MappingProxyType({error: code for code, meaning in MEANINGS.items() for error in meaning.errors})
_OF_STATUS: Final = MappingProxyType(
    {
        401: Exit.REFUSED,
        403: Exit.REFUSED,
        404: Exit.NOT_FOUND,
        409: Exit.CONFLICT,
        410: Exit.CONFLICT,
        422: Exit.INVALID_ANSWER,
        429: Exit.UNAVAILABLE,
    }
)
_SERVER_ERRORS: Final = 500


def exit_of(error_code: str, status: int | None = None) -> Exit:
    """Return how a command ends on an error; one that only a newer server knows counts by its HTTP status."""
    if error_code in _OF_ERROR:
        return _OF_ERROR[error_code]
    if status is None:
        return Exit.USAGE
    return _OF_STATUS.get(status, Exit.UNAVAILABLE if status >= _SERVER_ERRORS else Exit.USAGE)


def exit_codes_help() -> str:
    """Return the table as a help text shows it."""
    return "Exit codes:\n\n" + "\n".join(f"    {code:<3}  {meaning.text}" for code, meaning in MEANINGS.items())


def epilogue(*examples: str) -> str:
    """Return what a command's help ends with: examples and exit codes."""
    lines = "\n".join(f"    {example}" for example in examples)
    return f"Examples:\n\n{lines}\n\n{exit_codes_help()}\n"
