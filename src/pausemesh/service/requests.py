"""The callers' words, checked before anything is looked up."""

import asyncio
import dataclasses
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from pausemesh.core import limits
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.errors import IdempotencyKeyInvalid, IdempotencyKeyRequired, InvalidRequest, PayloadTooLarge
from pausemesh.core.issue import Issue
from pausemesh.core.limits import JsonLimits
from pausemesh.core.policy import Policy
from pausemesh.core.values import check_aware, check_text, cut_to_milliseconds

_LARGE_BYTES: Final = 65_536


async def document_of(value: object, json_limits: JsonLimits) -> Document:
    """Return a value as a document; one that turns out to be large is written off the event loop.

    Raises:
        InvalidJson: it is not plain JSON within the limits.
        PayloadTooLarge: its canonical bytes are more than the limit.
    """
    if json_limits.max_bytes <= _LARGE_BYTES:
        return Document.of(value, json_limits)
    try:
        return Document.of(value, dataclasses.replace(json_limits, max_bytes=_LARGE_BYTES))
    except PayloadTooLarge:
        return await asyncio.to_thread(Document.of, value, json_limits)


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


def answerable_by_of(ways: Iterable[str] | None, default: tuple[AnswerableBy, ...]) -> tuple[AnswerableBy, ...]:
    """Return the ways in their one order.

    Raises:
        InvalidRequest: none is named, or one that there is not.
    """
    if ways is None:
        return default
    named = set(ways)
    if not named or isinstance(ways, str) or named - {way.value for way in AnswerableBy}:
        raise InvalidRequest(issues=[Issue("/answerableBy", "enum", "must name token, operator, or both")])
    return tuple(way for way in AnswerableBy if way.value in named)


def expiry_of(expires_at: object, expires_in: object, policy: Policy, now: datetime) -> datetime:
    """Return when a question expires, in whole milliseconds.

    Raises:
        InvalidRequest: both are given, or it is not in the future, or beyond the policy's maximum.
    """
    if expires_at is not None and expires_in is not None:
        raise _bad_expiry("expires_at and expires_in exclude each other")
    if expires_at is not None:
        expiry = check_aware(expires_at, "/expiresAt")
    else:
        lifetime = policy.lifetime if expires_in is None else expires_in
        if not isinstance(lifetime, timedelta) or not timedelta(0) < lifetime <= policy.max_lifetime:
            raise _bad_expiry("must be a positive time within the maximum lifetime")
        expiry = cut_to_milliseconds(now + lifetime)
    if expiry <= now:
        raise _bad_expiry("must be in the future")
    if expiry > now + policy.max_lifetime:
        raise _bad_expiry("must be within the maximum lifetime")
    return expiry


def lease_of(value: object) -> timedelta:
    """Return a lease of one second to one day.

    Raises:
        InvalidRequest: it is anything else.
    """
    least, most = timedelta(seconds=limits.LEASE_MIN_SECONDS), timedelta(seconds=limits.LEASE_MAX_SECONDS)
    if isinstance(value, timedelta) and least <= value <= most:
        return value
    raise InvalidRequest(issues=[Issue("/lease", "range", "must be one second to one day")])


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
