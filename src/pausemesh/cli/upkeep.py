"""What the commands share that check and mend a database: how findings are shown."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich import box
from rich.table import Table

from pausemesh import Finding, Flaw
from pausemesh.cli.terminal import shown
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.core.values import JsonValue

FLAWS: Final[Mapping[Flaw, str]] = MappingProxyType(
    {
        Flaw.HEAD: "a column of the head is not what the events give",
        Flaw.HEAD_MISSING: "there are events and no head",
        Flaw.CLAIM: "the head does not say when its claim was done, as an event does",
        Flaw.FENCE: "the head's fence is below one in the log",
        Flaw.EVENTS_MISSING: "events are missing, all of them",
        Flaw.UNREADABLE: "a row or an event cannot be read",
        Flaw.VERSIONS: "an event is missing, this version the first",
        Flaw.ORDER: "a later event has an earlier place in the log",
        Flaw.ENCODING: "an event is not stored as it was written",
        Flaw.REPLAY: "the events contradict each other",
        Flaw.DIGEST: "the digest of what was shown is another",
        Flaw.DEADLINE: "it was decided on the wrong side of its deadline",
        Flaw.QUESTION: "its question is missing, unreadable or unanswered",
        Flaw.NOUN: "it is nothing that this release knows",
        Flaw.AUDIT: "the audit log tells of another decision",
        Flaw.LOG: "the log as a whole does not hold what the streams hold",
        Flaw.MEDIUM: "the database file itself is damaged",
    }
)
"""What each flaw means, in words for a table."""


def finding_to_json(finding: Finding) -> dict[str, JsonValue]:
    """Return a finding as JSON; members without a value are left out."""
    members: dict[str, JsonValue] = {
        "scope": finding.scope,
        "stream": finding.stream,
        "version": finding.version,
        "detail": finding.detail,
    }
    present = {name: value for name, value in members.items() if value is not None}
    return {"flaw": finding.flaw.value, **present}


def table_of(findings: Sequence[Finding]) -> Table:
    """Return findings as a table; names come from the database, and are made harmless."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("flaw", no_wrap=True)
    for column in ("stream", "version", "what it means"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        detail = "" if finding.detail is None else f": {finding.detail}"
        version = "" if finding.version is None else str(finding.version)
        table.add_row(finding.flaw.value, shown(_place_of(finding)), version, shown(f"{FLAWS[finding.flaw]}{detail}"))
    return table


def counted(count: int, one: str) -> str:
    """Return a number and its noun."""
    return f"{count:,} {one if count == 1 else f'{one}s'}"


def stream_words(scope: str | None, stream: str) -> str:
    """Return a stream's name, with its scope where that is another than the default one."""
    return stream if scope in {None, DEFAULT_SCOPE} else f"{scope}: {stream}"


def _place_of(finding: Finding) -> str:
    return "(the whole)" if finding.stream is None else stream_words(finding.scope, finding.stream)
