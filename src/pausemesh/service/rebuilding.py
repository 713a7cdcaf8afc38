"""Writing heads anew from the log, where they differ from it or are missing; what is in the events stays as it is."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from pausemesh.core import limits
from pausemesh.core.claim import Claim
from pausemesh.core.envelope import Status
from pausemesh.core.errors import StoreCorrupt
from pausemesh.records import ClaimColumns, Restoring, Stream
from pausemesh.service.examination import Examination, Examiner, Name
from pausemesh.service.findings import MENDABLE, Finding, Findings, Flaw, RebuildReport
from pausemesh.service.medium import find_damage
from pausemesh.service.nouns import CONTINUATIONS, EFFECTS
from pausemesh.service.transact import Transactor
from pausemesh.service.world import World

_ATTEMPTS: Final = 3
"""How often a head is looked at again that changed meanwhile."""


class Rebuilding:
    """Goes over every stream of every scope and restores heads, each only where it is still what was seen.

    A process that uses the store meanwhile is never overwritten, and a second run finds nothing to do.
    """

    def __init__(self, world: World, transactor: Transactor) -> None:
        self._world = world
        self._examiner = Examiner(world, transactor)

    async def rebuild(self, *, dry_run: bool) -> RebuildReport:
        """Mend what can be mended, and tell what that was and what is left; a dry run writes nothing."""
        remaining = Findings()
        await find_damage(self._world.store, remaining)
        work = _Work(dry_run=dry_run, is_whole=not remaining.found, remaining=remaining)
        after: Name | None = None
        try:
            while names := await self._examiner.names(after, limits.EXAMINED_STREAMS):
                await self._mend(names, work)
                after = names[-1]
        except StoreCorrupt:
            work.remaining.add(Finding(flaw=Flaw.UNREADABLE))
        return RebuildReport(
            dry_run=dry_run,
            mended=tuple(work.mended),
            heads=work.heads,
            overtaken=work.overtaken,
            remaining=tuple(work.remaining.listed),
            remains=work.remaining.found,
        )

    async def _mend(self, names: Sequence[Name], work: "_Work") -> None:
        """Mend the streams of a page, and the questions whose fence its claims and effects are beyond."""
        examination = await self._examiner.examine(names)
        flawed: dict[Name, list[Finding]] = {}
        for name in names:
            for finding in examination.findings_of(name):
                if finding.flaw in MENDABLE:
                    flawed.setdefault((str(finding.scope), str(finding.stream)), []).append(finding)
                else:
                    work.remaining.add(finding)
        targets = [*flawed]
        for start in range(0, len(targets), limits.WRITES_PER_CALL):
            await self._restore(targets[start : start + limits.WRITES_PER_CALL], flawed, work)

    async def _restore(self, targets: Sequence[Name], flawed: dict[Name, list[Finding]], work: "_Work") -> None:
        waiting = list(targets)
        for _ in range(_ATTEMPTS):
            examination = await self._examiner.examine(waiting)
            restorings = [await self._restoring(name, examination, flawed[name], work) for name in waiting]
            wanted = [restoring for restoring in restorings if restoring is not None]
            if not wanted:
                return
            if work.dry_run:
                work.note([_name_of(restoring) for restoring in wanted])
                return
            written = await self._world.store.restore_heads(*wanted)
            outcomes = [(_name_of(one), is_written) for one, is_written in zip(wanted, written, strict=True)]
            work.note([name for name, is_written in outcomes if is_written])
            waiting = [name for name, is_written in outcomes if not is_written]
            if not waiting:
                return
        work.overtaken += len(waiting)

    async def _restoring(
        self, name: Name, examination: Examination, findings: Sequence[Finding], work: "_Work"
    ) -> Restoring | None:
        """Return how a stream's head must be; None where the log does not tell, or nothing is wrong any more."""
        stored, head = examination.stream(name).stored, examination.head_of(name)
        if head is None or (stored.head is None and not (work.is_whole and _knows_its_claim(name, examination))):
            for finding in findings:
                work.remaining.add(finding)
            return None
        restored = Stream(
            scope=stored.scope,
            stream=stored.stream,
            version=stored.events[-1].version,
            head=head,
            claim=await self._claim_columns(name, examination),
            created_at=stored.events[0].at,
            updated_at=stored.events[-1].at,
        )
        return None if restored == stored.head else Restoring(seen=stored.head, head=restored)

    async def _claim_columns(self, name: Name, examination: Examination) -> ClaimColumns:
        """Return the claim of a question: what the head has, as far as the log does not know more."""
        stream = examination.stream(name)
        seen = stream.stored.head
        kept = ClaimColumns() if seen is None else seen.claim
        if stream.question is None:
            return kept
        claim = examination.claim_of(name)
        done_at = claim.ended_at or kept.done_at
        fence = max(claim.highest_fence, await self._highest_fence(name))
        if kept.fence >= fence and not (seen is None and stream.question.status is Status.RESUMED):
            return dataclasses.replace(kept, done_at=done_at)
        if done_at is not None:
            finished = claim.state.finished if isinstance(claim.state, Claim) else None
            holder = None if finished is None else finished.worker
            return ClaimColumns(holder=holder, fence=fence, attempts=fence, done_at=done_at)
        # Nobody knows any more how far the fence had come, and a worker of before may be alive.
        return ClaimColumns(fence=fence + limits.FENCE_LEAP, attempts=fence)

    async def _highest_fence(self, name: Name) -> int:
        """Return the highest fence under which an effect of a question was recorded."""
        scope, stream = name
        prefix = EFFECTS.stream_of(f"{CONTINUATIONS.id_of(stream)}/")
        after, highest = (scope, prefix), 0
        while True:
            names = await self._examiner.names(after, limits.EXAMINED_STREAMS)
            own = [one for one in names if one[0] == scope and one[1].startswith(prefix)]
            if not own:
                return highest
            examination = await self._examiner.examine(own)
            highest = max(highest, *[examination.stream(one).highest_fence for one in own])
            after = own[-1]


class _Work:
    """What was done so far; ``is_whole``: the store's medium is sound, so that no event can be missing unseen."""

    def __init__(self, *, dry_run: bool, is_whole: bool, remaining: Findings) -> None:
        self.dry_run = dry_run
        self.is_whole = is_whole
        self.mended: list[Name] = []
        self.heads = 0
        self.overtaken = 0
        self.remaining = remaining

    def note(self, names: Sequence[Name]) -> None:
        """Take note of heads that were mended."""
        self.heads += len(names)
        self.mended += names[: limits.FINDINGS - len(self.mended)]


def _knows_its_claim(name: Name, examination: Examination) -> bool:
    """Tell whether it can be read whether somebody finished with a question."""
    return examination.stream(name).noun is not CONTINUATIONS or not examination.claim_of(name).stored.unreadable


def _name_of(restoring: Restoring) -> Name:
    return restoring.head.scope, restoring.head.stream
