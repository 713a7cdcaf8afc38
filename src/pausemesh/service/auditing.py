"""Comparing the audit log with the decisions that it tells of: it has the digest of what a person answered."""

from collections.abc import Iterable

from pausemesh.core import limits
from pausemesh.core.continuation_events import Cancelled, Resumed
from pausemesh.core.errors import StoreCorrupt
from pausemesh.core.principal import BY_TOKEN
from pausemesh.ports import EventStore
from pausemesh.records import AuditRow, RecordedAudit
from pausemesh.service.examination import Examiner, Name
from pausemesh.service.findings import Finding, Findings, Flaw
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.service.stored_stream import StoredStream


async def find_audit_flaws(store: EventStore, examiner: Examiner, scopes: Iterable[str], findings: Findings) -> None:
    """Look for rows of the audit log whose decision was another, or is not there.

    A row is written in the commit of its decision, so that whoever reads it first finds that, too.
    """
    for scope in scopes:
        after = None
        try:
            while rows := await store.list_audit(scope, after, limits.EXAMINED_STREAMS):
                await _compare(scope, rows, examiner, findings)
                after = (rows[-1].at, rows[-1].row.id)
        except StoreCorrupt:
            findings.add(Finding(flaw=Flaw.AUDIT, scope=scope))


async def _compare(scope: str, rows: Iterable[RecordedAudit], examiner: Examiner, findings: Findings) -> None:
    decided: list[tuple[Name, RecordedAudit]] = [
        ((scope, CONTINUATIONS.stream_of(audited.row.noun_id)), audited)
        for audited in rows
        if audited.row.noun == CONTINUATIONS.name
    ]
    examination = await examiner.examine([*dict.fromkeys(name for name, _ in decided)])
    for name, audited in decided:
        if not _is_decision_of(examination.stream(name), audited):
            findings.add(examination.stream(name).finding(Flaw.AUDIT))


def _is_decision_of(stream: StoredStream, audited: RecordedAudit) -> bool:
    """Tell whether a stream has the decision of a row; what cannot be read is told elsewhere."""
    if len(stream.events) < len(stream.stored.events) or stream.stored.unreadable:
        return True
    return any(
        stamped.at == audited.at and _tells_of(audited.row, stamped.event)
        for stamped in stream.events
        if isinstance(stamped.event, Resumed | Cancelled)
    )


def _tells_of(row: AuditRow, event: Resumed | Cancelled) -> bool:
    is_same_kind, digest = row.action == "continuation.cancel", None
    if isinstance(event, Resumed):
        is_same_kind, digest = row.action == "continuation.resume", event.payload.digest
    # What a token decided is not remembered as anybody's; the row says all the same who brought the token.
    is_same_actor = event.by == BY_TOKEN or row.actor.partition(":")[2] == event.by.id
    return is_same_kind and row.digest == digest and is_same_actor
