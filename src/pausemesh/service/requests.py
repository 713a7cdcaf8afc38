"""The callers' words, checked before anything is looked up."""

import asyncio
import dataclasses
import functools
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from pausemesh.core import limits
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.errors import (
    ContinuationNotFound,
    IdempotencyKeyInvalid,
    IdempotencyKeyRequired,
    InvalidRequest,
    PayloadTooLarge,
)
from pausemesh.core.issue import Issue
from pausemesh.core.limits import JsonLimits
from pausemesh.core.policy import Policy
from pausemesh.core.principal import Principal
from pausemesh.core.values import JsonInput, check_aware, check_own_id, check_text, cut_to_milliseconds

_LARGE_BYTES: Final = 65_536
_POLICIES: Final = 16
"""For how many policies of one process the limits below that size are kept."""


async def document_of(value: object, json_limits: JsonLimits) -> Document:
    """Return a value as a document; one that turns out to be large is written off the event loop.

    Raises:
        InvalidJson: it is not plain JSON within the limits.
        PayloadTooLarge: its canonical bytes are more than the limit.
    """
    if json_limits.max_bytes <= _LARGE_BYTES:
        return Document.of(value, json_limits)
    try:
        return Document.of(value, _while_small(json_limits))
    except PayloadTooLarge:
        return await asyncio.to_thread(Document.of, value, json_limits)


@functools.lru_cache(maxsize=_POLICIES)
def _while_small(json_limits: JsonLimits) -> JsonLimits:
    return dataclasses.replace(json_limits, max_bytes=_LARGE_BYTES)


def idempotency_key_of(value: object) -> str:
    """Return the key without edge blanks: 1 to 200 characters without control characters.

    Raises:
        IdempotencyKeyRequired: there is none.
        IdempotencyKeyInvalid: it is anything else.
    """
    if value is None:
        raise IdempotencyKeyRequired
    try:
        key = check_text(value, "/idempotencyKey", most=limits.IDEMPOTENCY_KEY_CHARACTERS + limits.REASON_CHARACTERS)
        return check_text(key.strip(), "/idempotencyKey", limits.IDEMPOTENCY_KEY_CHARACTERS, least=1)
    except InvalidRequest:
        raise IdempotencyKeyInvalid from None


def expected_version_of(value: object) -> int | None:
    """Return a version, at least 1, or None where the caller does not care.

    Raises:
        InvalidRequest: it is anything else.
    """
    if value is None or (type(value) is int and value >= 1):
        return value
    raise InvalidRequest(issues=[Issue("/expectedVersion", "range", "must be an integer of at least 1")])


def reason_of(value: object) -> str | None:
    """Return a reason of at most 500 characters, or None.

    Raises:
        InvalidRequest: it is anything else.
    """
    return None if value is None else check_text(value, "/reason", limits.REASON_CHARACTERS)


def answerable_by_of(ways: object) -> tuple[AnswerableBy, ...] | None:
    """Return the ways that were named, in their one order, or None where none were.

    Raises:
        InvalidRequest: the list is empty, or names one that there is not.
    """
    if ways is None:
        return None
    try:
        given = [] if isinstance(ways, str) else list(ways)  # type: ignore[call-overload]
        named = {AnswerableBy(way if isinstance(way, str) else "") for way in given}
    except (TypeError, ValueError):
        named = set()
    if not named:
        raise InvalidRequest(issues=[Issue("/answerableBy", "enum", "must name token, operator, or both")])
    return tuple(way for way in AnswerableBy if way in named)


def continuation_id_of(value: object) -> str:
    """Return an id that may be known.

    Raises:
        InvalidRequest: it is no text.
        ContinuationNotFound: nothing can have this id.
    """
    if not isinstance(value, str):
        raise InvalidRequest(issues=[Issue("/continuationId", "type", "must be text")])
    try:
        return check_own_id(value, "/continuationId")
    except InvalidRequest:
        raise ContinuationNotFound from None


def principal_of(by: object, scope: str) -> Principal | None:
    """Return who calls, where the host says so.

    Raises:
        InvalidRequest: it is no principal.
        ContinuationNotFound: it belongs to another scope, as if nothing were there.
    """
    if by is None:
        return None
    if not isinstance(by, Principal):
        raise InvalidRequest(issues=[Issue("/by", "type", "must be a Principal")])
    if by.scope != scope:
        raise ContinuationNotFound
    return by


def expiry_of(expires_at: object, expires_in: object, policy: Policy, now: datetime) -> datetime:
    """Return when a question expires, in whole milliseconds; whether that is timely is for its creation to judge.

    Raises:
        InvalidRequest: both are given, or one is no time, or not a positive one within the maximum lifetime.
    """
    if expires_at is not None:
        if expires_in is not None:
            raise _bad_expiry("expires_at and expires_in exclude each other")
        return check_aware(expires_at, "/expiresAt")
    lifetime = policy.lifetime if expires_in is None else expires_in
    if not isinstance(lifetime, timedelta) or not timedelta(0) < lifetime <= policy.max_lifetime:
        raise _bad_expiry("must be a positive time within the maximum lifetime")
    return cut_to_milliseconds(now + lifetime)


def require_timely(expiry: datetime, policy: Policy, now: datetime) -> None:
    """Pass an expiry that is ahead, and within the maximum lifetime.

    Raises:
        InvalidRequest: it is not.
    """
    if expiry <= now:
        raise _bad_expiry("must be in the future")
    if expiry > now + policy.max_lifetime:
        raise _bad_expiry("must be within the maximum lifetime")


def object_of(value: object, path: str) -> dict[str, JsonInput]:
    """Return a mapping as a plain object; what it holds is checked where it is written.

    Raises:
        InvalidRequest: it is no mapping.
    """
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidRequest(issues=[Issue(path, "type", "must be an object")])


def lease_of(value: object) -> timedelta:
    """Return a lease of one second to one day.

    Raises:
        InvalidRequest: it is anything else.
    """
    least, most = timedelta(seconds=limits.LEASE_MIN_SECONDS), timedelta(seconds=limits.LEASE_MAX_SECONDS)
    if isinstance(value, timedelta) and least <= value <= most:
        return value
    raise InvalidRequest(issues=[Issue("/lease", "range", "must be one second to one day")])


def worker_of(value: object) -> str:
    """Return a worker's name, 1 to 200 characters without control characters.

    Raises:
        InvalidRequest: it is anything else.
    """
    return check_text(value, "/worker", limits.WORKER_CHARACTERS, least=1)


def page_limit_of(value: object) -> int:
    """Return how many rows a page may have, 1 to 200.

    Raises:
        InvalidRequest: it is anything else.
    """
    if type(value) is int and 1 <= value <= limits.PAGE_MAX:
        return value
    raise InvalidRequest(issues=[Issue("/limit", "range", f"must be 1 to {limits.PAGE_MAX}")])


def _bad_expiry(message: str) -> InvalidRequest:
    return InvalidRequest(issues=[Issue("/expiresAt", "range", message)])
