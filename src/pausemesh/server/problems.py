"""From an error to its status and its problem document (RFC 9457): one table for all routes."""

import math
from typing import Any, Final

import msgspec

from pausemesh.core import errors as core_errors
from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.errors import (
    ClaimHeld,
    Conflict,
    ContinuationExpired,
    ForkedMesh,
    SchemaError,
    StoreCorrupt,
    StoreUnsafe,
    StreamTooLong,
    VersionConflict,
)
from pausemesh.core.values import time_to_text
from pausemesh.server import errors as server_errors
from pausemesh.server.answer import Answer
from pausemesh.server.errors import InternalError, MethodNotAllowed, RateLimited

MEDIA_TYPE: Final = b"application/problem+json"

STATUS: Final[dict[str, int]] = {
    "INVALID_JSON": 400,
    "INVALID_REQUEST": 400,
    "IDEMPOTENCY_KEY_REQUIRED": 400,
    "IDEMPOTENCY_KEY_INVALID": 400,
    "INVALID_CURSOR": 400,
    "CREDENTIAL_IN_URL": 400,
    "UNAUTHENTICATED": 401,
    "TOKEN_MISMATCH": 401,
    "FORBIDDEN": 403,
    "CONTINUATION_NOT_FOUND": 404,
    "CLAIM_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "TOKEN_ALREADY_USED": 409,
    "CONTINUATION_CANCELLED": 409,
    "INVALID_TRANSITION": 409,
    "VERSION_CONFLICT": 409,
    "CONTINUATION_EXISTS": 409,
    "OWNED": 409,
    "OWNED_BY_TASK": 409,
    "DIGEST_MISMATCH": 409,
    "ACTION_MISMATCH": 409,
    "CLAIM_HELD": 409,
    "LEASE_LOST": 409,
    "EFFECT_UNKNOWN": 409,
    "EFFECT_CONFLICT": 409,
    "CONTINUATION_EXPIRED": 410,
    "EVENTS_GONE": 410,
    "PAYLOAD_TOO_LARGE": 413,
    "URI_TOO_LONG": 414,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "MISDIRECTED": 421,
    "IDEMPOTENCY_CONFLICT": 422,
    "ANSWER_INVALID": 422,
    "SCHEMA_NOT_ALLOWED": 422,
    "RATE_LIMITED": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL_ERROR": 500,
    "STORE_UNAVAILABLE": 503,
    "OUTCOME_UNKNOWN": 503,
    "OVERLOADED": 503,
    "STORE_FULL": 507,
}
"""The status of every code that an answer can have."""

_SHOWN_AS: Final[dict[type[PauseMeshError], str]] = {
    StoreCorrupt: "INTERNAL_ERROR",
    ForkedMesh: "INTERNAL_ERROR",
    StoreUnsafe: "STORE_UNAVAILABLE",
    SchemaError: "STORE_UNAVAILABLE",
    StreamTooLong: "INVALID_TRANSITION",
}
"""What a client is told of errors that are about the inside."""

_RETRY_SECONDS: Final = 1
_RETRIED: Final = frozenset({429, 503})


def code_of(error: PauseMeshError) -> str:
    """Return the code that a client is told."""
    for kind, code in _SHOWN_AS.items():
        if isinstance(error, kind):
            return code
    return error.code if error.code in STATUS else InternalError.code


def problem_answer(error: PauseMeshError) -> Answer:
    """Return the whole answer."""
    code = code_of(error)
    status = STATUS[code]
    headers = [(b"content-type", MEDIA_TYPE), *_headers_of(error, status)]
    return Answer(status=status, body=msgspec.json.encode(problem_of(error)), headers=tuple(headers))


def problem_of(error: PauseMeshError) -> dict[str, Any]:
    """Return the problem document: no payload, token or text that came from the request."""
    code = code_of(error)
    is_own = code == error.code
    problem: dict[str, Any] = {
        "type": type_of(code),
        "title": TITLES[code],
        "status": STATUS[code],
        "code": code,
    }
    if not is_own:
        return problem
    if error.detail is not None:
        problem["detail"] = error.detail
    if error.issues:
        problem["issues"] = [
            {"path": issue.path, "reason": issue.reason, "message": issue.message} for issue in error.issues
        ]
    return problem | _members_of(error)


def type_of(code: str) -> str:
    """Return the URI that names a kind of problem."""
    return "urn:pausemesh:problem:" + code.lower().replace("_", "-")


def _members_of(error: PauseMeshError) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if isinstance(error, VersionConflict):
        members |= {"expected": error.expected, "actual": error.actual}
    if isinstance(error, ClaimHeld):
        members["leaseUntil"] = time_to_text(error.lease_until)
    if isinstance(error, ContinuationExpired) and error.expires_at is not None:
        members["expiresAt"] = time_to_text(error.expires_at)
    if isinstance(error, Conflict | ContinuationExpired) and error.recorded is not None:
        recorded = error.recorded
        members["recorded"] = {
            "status": recorded.status,
            "version": recorded.version,
            "decidedAt": time_to_text(recorded.decided_at),
        }
    return members


def _headers_of(error: PauseMeshError, status: int) -> list[tuple[bytes, bytes]]:
    if isinstance(error, RateLimited):
        return [(b"retry-after", b"%d" % max(1, math.ceil(error.seconds)))]
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", ", ".join(error.allowed).encode())]
    if status == STATUS["UNAUTHENTICATED"]:
        return [(b"www-authenticate", b'Bearer realm="pausemesh", PauseMesh realm="pausemesh"')]
    return [(b"retry-after", b"%d" % _RETRY_SECONDS)] if status in _RETRIED else []


def _titles() -> dict[str, str]:
    found: dict[str, str] = {}
    for module in (core_errors, server_errors):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, PauseMeshError):
                found.setdefault(kind.code, (kind.__doc__ or "").partition("\n")[0])
    return {code: found[code] for code in STATUS}


TITLES: Final = _titles()
"""One sentence about every code."""
