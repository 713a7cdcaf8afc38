"""Which writes are well formed; looked at before anything is compared."""

from collections.abc import Iterator
from typing import Final
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.records import AuditRow, ClaimColumns, Due, Head, NewEvent, Restoring, Stream, Write
from pausemesh.stores.lookups import NAME
from pausemesh.stores.plain_values import is_a, is_count, is_name, is_text, is_time

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


def check_restorings(restorings: tuple[Restoring, ...]) -> None:
    """Pass heads that can be stored.

    Raises:
        InvalidRequest: there is none or more than ``limits.WRITES_PER_CALL``, one is malformed, or two are of the
            same stream.
    """
    if not 1 <= len(restorings) <= limits.WRITES_PER_CALL:
        raise InvalidRequest(f"A call has 1 to {limits.WRITES_PER_CALL} heads.")
    for index, restoring in enumerate(restorings):
        flaw = next(_flaws_of_restoring(restoring), None)
        if flaw is not None:
            place, message = flaw
            raise InvalidRequest(issues=[Issue(f"/{index}{place}", "restoring", message)])
    if len({(restoring.head.scope, restoring.head.stream) for restoring in restorings}) < len(restorings):
        raise InvalidRequest("Each head can be written once in a call.")


_TEXT: Final = "must be text without U+0000 and lone surrogates, or None"
_TIME: Final = "must be a time with a zone, or None"


def _flaws_of_write(write: Write) -> Iterator[_Flaw]:
    if not is_a(write, Write):
        yield "", "must be a Write"
        return
    if not is_name(write.scope):
        yield "/scope", NAME
    if not is_name(write.stream):
        yield "/stream", NAME
    if not is_count(write.expected_version):
        yield "/expected_version", "must be an integer from 0"
    if write.events:
        yield from _flaws_of_content(write, write.head)
    elif write.events != () or write.head is not None or write.rows != ():
        yield "/events", "a write without events has neither head nor rows"
    yield from _flaws_of_conditions(write)


def _flaws_of_conditions(write: Write) -> Iterator[_Flaw]:
    if not (write.token_hash is None or is_a(write.token_hash, bytes)):
        yield "/token_hash", "must be bytes, or None"
    if not is_a(write.due, Due):
        yield "/due", "must be a Due"
    if not (write.fence is None or is_count(write.fence)):
        yield "/fence", "must be an integer from 0, or None"
    if not (is_a(write.finish, bool) and is_a(write.history, bool)):
        yield "/finish", "finish and history must be True or False"
    if write.finish and write.fence is None:
        yield "/finish", "only who holds the claim can finish: a fence is needed"
    if not (write.silent_since is None or is_time(write.silent_since)):
        yield "/silent_since", _TIME


def _flaws_of_content(write: Write, head: Head | None) -> Iterator[_Flaw]:
    if not (is_a(write.events, tuple) and is_a(write.rows, tuple)):
        yield "/events", "events and rows must be tuples"
        return
    for index, event in enumerate(write.events):
        yield from _flaws_of_event(event, f"/events/{index}")
    if head is None:
        yield "/head", "events need a head"
        return
    if not is_a(head, Head):
        yield "/head", "must be a Head"
        return
    yield from _flaws_of_head(head)
    for index, row in enumerate(write.rows):
        yield from _flaws_of_row(row, f"/rows/{index}")


def _flaws_of_event(event: NewEvent, place: str) -> Iterator[_Flaw]:
    if not is_a(event, NewEvent):
        yield place, "must be a NewEvent"
        return
    if not is_a(event.id, UUID):
        yield f"{place}/id", "must be a UUID"
    if not is_name(event.type):
        yield f"{place}/type", NAME
    if not is_a(event.data, bytes):
        yield f"{place}/data", "must be bytes"


def _flaws_of_restoring(restoring: Restoring) -> Iterator[_Flaw]:
    if not (is_a(restoring, Restoring) and is_a(restoring.head, Stream)):
        yield "", "must be a Restoring with a Stream"
        return
    if not (restoring.seen is None or is_a(restoring.seen, Stream)):
        yield "/seen", "must be a Stream, or None"
    stream = restoring.head
    if not (is_name(stream.scope) and is_name(stream.stream)):
        yield "/head", f"scope and stream {NAME}"
    if not (is_count(stream.version) and stream.version > 0):
        yield "/head/version", "must be an integer from 1"
    if not (is_time(stream.created_at) and is_time(stream.updated_at)):
        yield "/head/created_at", "created_at and updated_at must be times with a zone"
    if not (is_a(stream.head, Head) and is_a(stream.claim, ClaimColumns)):
        yield "/head", "must have a Head and ClaimColumns"
        return
    yield from _flaws_of_head(stream.head)
    yield from _flaws_of_claim(stream.claim)


def _flaws_of_claim(claim: ClaimColumns) -> Iterator[_Flaw]:
    if not is_text(claim.holder):
        yield "/head/claim/holder", _TEXT
    if not (is_count(claim.fence) and is_count(claim.attempts)):
        yield "/head/claim/fence", "fence and attempts must be integers from 0"
    if not all(time is None or is_time(time) for time in (claim.lease_until, claim.done_at)):
        yield "/head/claim/done_at", f"lease_until and done_at {_TIME}"


def _flaws_of_head(head: Head) -> Iterator[_Flaw]:
    if not (is_name(head.kind) and is_name(head.status) and is_name(head.correlation)):
        yield "/head", f"kind, status and correlation {NAME}"
    if not (is_text(head.owner) and is_text(head.trace) and is_text(head.queue)):
        yield "/head", f"owner, trace and queue {_TEXT}"
    if not is_a(head.open, bool):
        yield "/head/open", "must be True or False"
    if not (head.token_hash is None or is_a(head.token_hash, bytes)):
        yield "/head/token_hash", "must be bytes, or None"
    due = head.due_at
    if not (due is None or (is_time(due) and due.microsecond % 1_000 == 0)):
        yield "/head/due_at", f"{_TIME}, in whole milliseconds"


def _flaws_of_row(row: AuditRow, place: str) -> Iterator[_Flaw]:
    if not is_a(row, AuditRow):
        yield place, "must be an AuditRow"
        return
    if not is_a(row.id, UUID):
        yield f"{place}/id", "must be a UUID"
    names = (row.action, row.noun, row.noun_id, row.correlation, row.actor)
    if not all(is_name(name) for name in names):
        yield place, f"action, noun, noun_id, correlation and actor {NAME}"
    if not (is_text(row.digest) and is_text(row.note)):
        yield place, f"digest and note {_TEXT}"
