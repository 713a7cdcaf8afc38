"""What a check of the whole store can find, and how it is told: places and reasons, never a value."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Final

from pausemesh.core import limits


class Flaw(enum.StrEnum):
    """What is wrong. The first four are mended from the log, the others cannot be.

    A head that knows more than the log is a witness that events are missing, and no flaw of its own.
    """

    HEAD = "head"
    """A member of the head, named by ``detail``, is another than the events give."""

    HEAD_MISSING = "head_missing"
    """There are events and no head."""

    CLAIM = "claim"
    """An event says when the claim was done, and the head of the question does not."""

    FENCE = "fence"
    """The head's fence is below one under which something was recorded."""

    EVENTS_MISSING = "events_missing"
    """There is no event, and a head that had one; of a claim also the head of the question."""

    UNREADABLE = "unreadable"
    """A row holds what it cannot hold, or an event cannot be read or names another place."""

    VERSIONS = "versions"
    """The versions of the events are not 1, 2, 3 … up to that of the head; ``version`` is the first that is missing."""

    ORDER = "order"
    """A later event has an earlier place in the log."""

    ENCODING = "encoding"
    """An event can be read, but its bytes are not those in which it is written."""

    REPLAY = "replay"
    """The events contradict each other."""

    DIGEST = "digest"
    """The digest of what was shown is not that of the payload and the deadline."""

    DEADLINE = "deadline"
    """It was decided at or after its deadline, or expired before."""

    QUESTION = "question"
    """A claim or an effect belongs to a question that is missing, unreadable or not answered."""

    NOUN = "noun"
    """It is a stream of nothing that this release knows."""

    AUDIT = "audit"
    """The audit log tells of a decision that is another one, or is not there."""

    LOG = "log"
    """The log in the order of its commits does not hold the same events as the streams do."""

    MEDIUM = "medium"
    """The store finds its medium damaged; ``detail`` has its words."""


MENDABLE: Final = frozenset({Flaw.HEAD, Flaw.HEAD_MISSING, Flaw.CLAIM, Flaw.FENCE})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong; a flaw of the store as a whole has neither scope nor stream.

    ``version`` is that of the event, ``detail`` the name of a head's member or what the store says of its medium.
    """

    flaw: Flaw
    scope: str | None = None
    stream: str | None = None
    version: int | None = None
    detail: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What a check found; ``streams`` counts them by noun.

    ``findings`` are the first ``limits.FINDINGS``, ``found`` counts them all.
    """

    streams: Mapping[str, int]
    events: int
    last_seq: int
    findings: tuple[Finding, ...]
    found: int

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.found == 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RebuildReport:
    """Which heads were written anew, as (scope, stream), and what is wrong still.

    ``mended`` are the first ``limits.FINDINGS``, ``heads`` counts them all; after a dry run they are those that would
    have been written. ``overtaken`` heads changed while they were looked at: whoever uses them keeps them up to date,
    and the next run sees what is left. ``remaining`` and ``remains`` are to what cannot be mended as ``findings`` and
    ``found`` are in ``VerifyReport``.
    """

    dry_run: bool
    mended: tuple[tuple[str, str], ...]
    heads: int
    overtaken: int
    remaining: tuple[Finding, ...]
    remains: int

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong any more, or would be after a run that is not dry."""
        return self.remains == 0 and self.overtaken == 0


class Findings:
    """Collects findings, each once, and keeps no more than may be listed."""

    def __init__(self) -> None:
        self.listed: dict[Finding, None] = {}
        self.found = 0

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        if finding in self.listed:
            return
        self.found += 1
        if len(self.listed) < limits.FINDINGS:
            self.listed[finding] = None
