"""Which writes are well formed; looked at before anything is compared."""

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
        flaw = _flaw_of_write(write)
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
        flaw = _flaw_of_restoring(restoring)
        if flaw is not None:
            place, message = flaw
            raise InvalidRequest(issues=[Issue(f"/{index}{place}", "restoring", message)])
    if len({(restoring.head.scope, restoring.head.stream) for restoring in restorings}) < len(restorings):
        raise InvalidRequest("Each head can be written once in a call.")


_TEXT: Final = "must be text without U+0000 and lone surrogates, or None"
_TIME: Final = "must be a time with a zone, or None"


def _flaw_of_write(write: Write) -> _Flaw | None:
    if not is_a(write, Write):
        return "", "must be a Write"
    if not is_name(write.scope):
        return "/scope", NAME
    if not is_name(write.stream):
        return "/stream", NAME
    if not is_count(write.expected_version):
        return "/expected_version", "must be an integer from 0"
    return _flaw_of_content(write, write.head) or _flaw_of_conditions(write) or _flaw_of_claiming(write)


def _flaw_of_conditions(write: Write) -> _Flaw | None:
    if not (write.token_hash is None or is_a(write.token_hash, bytes)):
        return "/token_hash", "must be bytes, or None"
    if not is_a(write.due, Due):
        return "/due", "must be a Due"
    return None


def _flaw_of_claiming(write: Write) -> _Flaw | None:
    if not (write.fence is None or is_count(write.fence)):
        return "/fence", "must be an integer from 0, or None"
    if not (is_a(write.finish, bool) and is_a(write.history, bool)):
        return "/finish", "finish and history must be True or False"
    if write.finish and write.fence is None:
        return "/finish", "only who holds the claim can finish: a fence is needed"
    if not (write.silent_since is None or is_time(write.silent_since)):
        return "/silent_since", _TIME
    return None


def _flaw_of_content(write: Write, head: Head | None) -> _Flaw | None:
    if not write.events:
        empty = write.events == () and write.head is None and write.rows == ()
        return None if empty else ("/events", "a write without events has neither head nor rows")
    if not (is_a(write.events, tuple) and is_a(write.rows, tuple)):
        return "/events", "events and rows must be tuples"
    for index, event in enumerate(write.events):
        flaw = _flaw_of_event(event)
        if flaw is not None:
            return f"/events/{index}{flaw[0]}", flaw[1]
    return _flaw_of_given_head(head) or _flaw_of_rows(write)


def _flaw_of_event(event: NewEvent) -> _Flaw | None:
    if not is_a(event, NewEvent):
        return "", "must be a NewEvent"
    if not is_a(event.id, UUID):
        return "/id", "must be a UUID"
    if not is_name(event.type):
        return "/type", NAME
    if not is_a(event.data, bytes):
        return "/data", "must be bytes"
    return None


def _flaw_of_given_head(head: Head | None) -> _Flaw | None:
    if head is None:
        return "/head", "events need a head"
    if not is_a(head, Head):
        return "/head", "must be a Head"
    return _flaw_of_head(head)


def _flaw_of_restoring(restoring: Restoring) -> _Flaw | None:
    if not (is_a(restoring, Restoring) and is_a(restoring.head, Stream)):
        return "", "must be a Restoring with a Stream"
    if not (restoring.seen is None or is_a(restoring.seen, Stream)):
        return "/seen", "must be a Stream, or None"
    return _flaw_of_stream(restoring.head)


def _flaw_of_stream(stream: Stream) -> _Flaw | None:
    if not (is_name(stream.scope) and is_name(stream.stream)):
        return "/head", f"scope and stream {NAME}"
    if not (is_count(stream.version) and stream.version > 0):
        return "/head/version", "must be an integer from 1"
    if not (is_time(stream.created_at) and is_time(stream.updated_at)):
        return "/head/created_at", "created_at and updated_at must be times with a zone"
    if not (is_a(stream.head, Head) and is_a(stream.claim, ClaimColumns)):
        return "/head", "must have a Head and ClaimColumns"
    return _flaw_of_head(stream.head) or _flaw_of_claim(stream.claim)


def _flaw_of_claim(claim: ClaimColumns) -> _Flaw | None:
    if not is_text(claim.holder):
        return "/head/claim/holder", _TEXT
    if not (is_count(claim.fence) and is_count(claim.attempts)):
        return "/head/claim/fence", "fence and attempts must be integers from 0"
    if not all(time is None or is_time(time) for time in (claim.lease_until, claim.done_at)):
        return "/head/claim/done_at", f"lease_until and done_at {_TIME}"
    return None


def _flaw_of_head(head: Head) -> _Flaw | None:
    if not (is_name(head.kind) and is_name(head.status) and is_name(head.correlation)):
        return "/head", f"kind, status and correlation {NAME}"
    if not (is_text(head.owner) and is_text(head.trace) and is_text(head.queue)):
        return "/head", f"owner, trace and queue {_TEXT}"
    if not is_a(head.open, bool):
        return "/head/open", "must be True or False"
    if not (head.token_hash is None or is_a(head.token_hash, bytes)):
        return "/head/token_hash", "must be bytes, or None"
    due = head.due_at
    if not (due is None or (is_time(due) and due.microsecond % 1_000 == 0)):
        return "/head/due_at", f"{_TIME}, in whole milliseconds"
    return None


def _flaw_of_rows(write: Write) -> _Flaw | None:
    for index, row in enumerate(write.rows):
        flaw = _flaw_of_row(row)
        if flaw is not None:
            return f"/rows/{index}{flaw[0]}", flaw[1]
    return None


def _flaw_of_row(row: AuditRow) -> _Flaw | None:
    if not is_a(row, AuditRow):
        return "", "must be an AuditRow"
    if not is_a(row.id, UUID):
        return "/id", "must be a UUID"
    names = (row.action, row.noun, row.noun_id, row.correlation, row.actor)
    if not all(is_name(name) for name in names):
        return "", f"action, noun, noun_id, correlation and actor {NAME}"
    if not (is_text(row.digest) and is_text(row.note)):
        return "", f"digest and note {_TEXT}"
    return None
