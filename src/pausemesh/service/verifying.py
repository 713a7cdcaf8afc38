"""Checking the whole store against its log, in bounded memory and without changing anything."""

from pausemesh.core import limits
from pausemesh.core.errors import StoreCorrupt
from pausemesh.service.auditing import find_audit_flaws
from pausemesh.service.examination import Examiner, Name
from pausemesh.service.findings import Finding, Findings, Flaw, VerifyReport
from pausemesh.service.medium import find_damage
from pausemesh.service.stored_stream import NOUNS
from pausemesh.service.transact import Transactor
from pausemesh.service.world import World

_OTHERS = "other"


class Verifying:
    """Goes over every stream of every scope, the log as a whole and the audit log, then asks about the medium.

    What is written meanwhile is no flaw: streams are compared as of one moment, and the log only up to where it was.
    """

    def __init__(self, world: World, transactor: Transactor) -> None:
        self._world = world
        self._examiner = Examiner(world, transactor)

    async def verify(self) -> VerifyReport:
        """Return what was looked at, and all that is wrong."""
        findings = Findings()
        horizon = await self._horizon(findings)
        survey = _Survey(horizon)
        await self._look_at_streams(survey, findings)
        if not survey.has_unreadable:
            await self._look_at_log(survey, findings)
        await find_audit_flaws(self._world.store, self._examiner, sorted(survey.scopes), findings)
        await find_damage(self._world.store, findings)
        return VerifyReport(
            streams=survey.streams,
            events=survey.events,
            last_seq=horizon,
            findings=tuple(findings.listed),
            found=findings.found,
        )

    async def _horizon(self, findings: Findings) -> int:
        """Return where the log ends now."""
        try:
            return await self._world.store.last_seq()
        except StoreCorrupt:
            findings.add(Finding(flaw=Flaw.LOG))
            return 0

    async def _look_at_streams(self, survey: "_Survey", findings: Findings) -> None:
        after: Name | None = None
        try:
            while names := await self._examiner.names(after, limits.EXAMINED_STREAMS):
                examination = await self._examiner.examine(names)
                for name in names:
                    stream = examination.stream(name)
                    survey.scopes.add(name[0])
                    seqs = [recorded.seq for recorded in stream.stored.events]
                    survey.count(_OTHERS if stream.noun is None else stream.noun.name, seqs)
                    survey.has_unreadable |= stream.stored.unreadable > 0
                    for finding in examination.findings_of(name):
                        findings.add(finding)
                after = names[-1]
        except StoreCorrupt:
            survey.has_unreadable = True
            findings.add(Finding(flaw=Flaw.UNREADABLE))

    async def _look_at_log(self, survey: "_Survey", findings: Findings) -> None:
        """Compare the events in the order of their commits with those of the streams."""
        try:
            events = await self._count_log(survey.horizon)
        except StoreCorrupt:
            events = None
        if events != survey.settled:
            findings.add(Finding(flaw=Flaw.LOG))

    async def _count_log(self, horizon: int) -> int | None:
        """Return how many events there are up to a place; None where the places do not grow."""
        seq, events = 0, 0
        while seq < horizon:
            page = await self._world.store.feed(seq, None, limits.PAGE_MAX)
            for recorded in page:
                if recorded.seq <= seq:
                    return None
                seq = recorded.seq
                events += seq <= horizon
            if not page:
                return None
        return events


class _Survey:
    """What was seen so far; ``settled`` counts the events that were there when the check began."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.streams = {noun.name: 0 for noun in NOUNS}
        self.events = 0
        self.settled = 0
        self.has_unreadable = False
        self.scopes: set[str] = set()

    def count(self, noun: str, seqs: list[int]) -> None:
        """Count a stream and its events."""
        self.streams[noun] = self.streams.get(noun, 0) + 1
        self.events += len(seqs)
        self.settled += sum(seq <= self.horizon for seq in seqs)
