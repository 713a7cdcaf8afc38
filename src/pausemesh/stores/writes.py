"""Which writes are well formed; looked at before anything is compared."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.ports import AuditRow, Due, Head, NewEvent, Write

_INTEGER_BELOW: Final = 2**63

_Flaw = tuple[str, str]
"""Where (a JSON Pointer inside the write), and what is wrong there."""


def check_writes(writes: tuple[Write, ...]) -> None:
    """Pass the writes of one call that can be compared and stored.

    Raises:
        InvalidRequest: there is none or more than ``limits.WRITES_PER_CALL``, one is malformed, or two are of the
            same stream.
    """
    if not 1 <= len(writes) <= limits.WRITES_PER_CALL:
        raise InvalidRequest(f"A call has 1 to {limits.WRITES_PER_CALL} writes.")
    for index, write in enumerate(writes):
        flaw = next(_flaws_of_write(write), None)
        if flaw is not None:
            place, message = flaw
            raise InvalidRequest(issues=[Issue(f"/{index}{place}", "write", message)])
    if len(writes) > 1 and len({(write.scope, write.stream) for write in writes}) < len(writes):
        raise InvalidRequest("Each stream can be written once in a call.")


def check_name(value: object, place: str) -> None:
    """Pass a name that every store can keep: not empty, and plain text.

    Raises:
        InvalidRequest: it is anything else; ``place`` is a JSON Pointer.
    """
    if not _is_name(value):
        raise InvalidRequest(issues=[Issue(place, "text", _NAME)])


def check_names(*names: object) -> None:
    """Pass names of what is looked for, as ``check_name``; None is passed too.

    Raises:
        InvalidRequest: one is anything else.
    """
    for name in names:
        if name is not None:
            check_name(name, "")


def check_seq(seq: int) -> None:
    """Pass a place in the log.

    Raises:
        InvalidRequest: it is not an integer of 64 bits.
    """
    if not _is_a(seq, int) or not -_INTEGER_BELOW <= seq < _INTEGER_BELOW:
        raise InvalidRequest(issues=[Issue("/after_seq", "seq", "must be an integer")])


def check_lease(lease: timedelta) -> None:
    """Pass the length of a lease.

    Raises:
        InvalidRequest: it is not positive.
    """
    if not _is_a(lease, timedelta) or not timedelta(0) < lease <= _LEASE_MOST:
        raise InvalidRequest(issues=[Issue("/lease", "lease", _LEASE)])


def check_limit(limit: int) -> None:
    """Pass how many rows are wanted at most.

    Raises:
        InvalidRequest: it is not a positive integer.
    """
    if not _is_a(limit, int) or not 1 <= limit < _INTEGER_BELOW:
        raise InvalidRequest(issues=[Issue("/limit", "limit", "must be a positive integer")])


_NAME: Final = "must be text that is not empty, without U+0000 and lone surrogates"
_TEXT: Final = "must be text without U+0000 and lone surrogates, or None"
_TIME: Final = "must be a time with a zone, or None"
_LEASE_MOST: Final = timedelta(seconds=limits.LEASE_MAX_SECONDS)
_LEASE: Final = f"must be positive and at most {limits.LEASE_MAX_SECONDS} seconds"


def _flaws_of_write(write: Write) -> Iterator[_Flaw]:
    if not _is_name(write.scope):
        yield "/scope", _NAME
    if not _is_name(write.stream):
        yield "/stream", _NAME
    if not _is_count(write.expected_version):
        yield "/expected_version", "must be an integer from 0"
    if write.events:
        yield from _flaws_of_content(write, write.head)
    elif write.events != () or write.head is not None or write.rows != ():
        yield "/events", "a write without events has neither head nor rows"
    yield from _flaws_of_conditions(write)


def _flaws_of_conditions(write: Write) -> Iterator[_Flaw]:
    if not (write.token_hash is None or _is_a(write.token_hash, bytes)):
        yield "/token_hash", "must be bytes, or None"
    if not _is_a(write.due, Due):
        yield "/due", "must be a Due"
    if not (write.fence is None or _is_count(write.fence)):
        yield "/fence", "must be an integer from 0, or None"
    if write.finish and write.fence is None:
        yield "/finish", "only who holds the claim can finish: a fence is needed"
    if not (write.silent_since is None or _is_time(write.silent_since)):
        yield "/silent_since", _TIME


def _flaws_of_content(write: Write, head: Head | None) -> Iterator[_Flaw]:
    if not (_is_a(write.events, tuple) and _is_a(write.rows, tuple)):
        yield "/events", "events and rows must be tuples"
        return
    for index, event in enumerate(write.events):
        yield from _flaws_of_event(event, f"/events/{index}")
    if head is None:
        yield "/head", "events need a head"
        return
    yield from _flaws_of_head(head)
    for index, row in enumerate(write.rows):
        yield from _flaws_of_row(row, f"/rows/{index}")


def _flaws_of_event(event: NewEvent, place: str) -> Iterator[_Flaw]:
    if not _is_a(event, NewEvent):
        yield place, "must be a NewEvent"
        return
    if not _is_a(event.id, UUID):
        yield f"{place}/id", "must be a UUID"
    if not _is_name(event.type):
        yield f"{place}/type", _NAME
    if not _is_a(event.data, bytes):
        yield f"{place}/data", "must be bytes"


def _flaws_of_head(head: Head) -> Iterator[_Flaw]:
    if not (_is_name(head.kind) and _is_name(head.status) and _is_name(head.correlation)):
        yield "/head", f"kind, status and correlation {_NAME}"
    if not (_is_text(head.owner) and _is_text(head.trace) and _is_text(head.queue)):
        yield "/head", f"owner, trace and queue {_TEXT}"
    if not _is_a(head.open, bool):
        yield "/head/open", "must be True or False"
    if not (head.token_hash is None or _is_a(head.token_hash, bytes)):
        yield "/head/token_hash", "must be bytes, or None"
    due = head.due_at
    if not (due is None or (_is_time(due) and due.microsecond % 1_000 == 0)):
        yield "/head/due_at", f"{_TIME}, in whole milliseconds"


def _flaws_of_row(row: AuditRow, place: str) -> Iterator[_Flaw]:
    if not _is_a(row, AuditRow):
        yield place, "must be an AuditRow"
        return
    if not _is_a(row.id, UUID):
        yield f"{place}/id", "must be a UUID"
    names = (row.action, row.noun, row.noun_id, row.correlation, row.actor)
    if not all(_is_name(name) for name in names):
        yield place, f"action, noun, noun_id, correlation and actor {_NAME}"
    if not (_is_text(row.digest) and _is_text(row.note)):
        yield place, f"digest and note {_TEXT}"


def _is_a(value: object, kind: type) -> bool:
    """Tell whether a value has this very type: a subclass may be mutable."""
    return type(value) is kind


def _is_name(value: object) -> bool:
    return value is not None and value != "" and _is_text(value)


def _is_text(value: object) -> bool:
    if value is None:
        return True
    if type(value) is not str or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _INTEGER_BELOW


def _is_time(value: object) -> bool:
    return isinstance(value, datetime) and value.utcoffset() is not None
