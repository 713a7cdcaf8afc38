"""What should happen, said once more and in another way: plain variables, no events, no versions to compare."""

import dataclasses
from datetime import datetime, timedelta
from typing import Final

import pausemesh
from pausemesh import PauseMeshError

_REISSUES: Final = 8


class RefusedError(Exception):
    """The model says that the product must refuse, with one of these very types."""

    def __init__(self, *kinds: type[PauseMeshError]) -> None:
        self.kinds = kinds
        super().__init__(*[kind.__name__ for kind in kinds])


@dataclasses.dataclass(slots=True, eq=False)
class Work:
    """An effect.

    Attributes:
        argument: what it was started with.
        status: started, completed, failed or unknown.
        fence: under which it was started last.
        attempts: how often it was started.
        result: what it gave.
        resolution: evidence and author, where somebody settled it.
    """

    argument: int
    status: str
    fence: int
    attempts: int = 1
    result: int | None = None
    resolution: tuple[str, str] | None = None


@dataclasses.dataclass(slots=True, eq=False)
class Question:
    """A question and all that hangs on it.

    Attributes:
        id: its id.
        expires_at: its deadline.
        ways: how it may be answered.
        token: the live one; it stays after its use.
        status: pending, resumed, cancelled or expired.
        version: how many events it has.
        answered: by whom, under which key and with what.
        reason: why it was cancelled.
        cancelled_at_version: the version before its cancellation.
        fence: how often its claim was taken.
        held: whether somebody holds the claim, lease aside.
        lease_until: when the lease ends.
        result: what the claim was finished with, by which fence.
        works: its effects by key.
    """

    id: str
    expires_at: datetime
    ways: frozenset[str]
    token: str | None
    status: str = "pending"
    version: int = 1
    reissues: int = 0
    answered: tuple[str, str, int] | None = None
    reason: str | None = None
    fence: int = 0
    held: bool = False
    lease_until: datetime | None = None
    result: tuple[int, int] | None = None
    works: dict[str, Work] = dataclasses.field(default_factory=dict)

    def expire_if_due(self, now: datetime) -> bool:
        """Expire, where it is open and its deadline is reached."""
        if self.status != "pending" or now < self.expires_at:
            return False
        self.status = "expired"
        self.version += 1
        return True

    def answer(self, by: str, key: str, payload: int, token: str | None, now: datetime) -> bool:
        """Take an answer, with a token where it comes ``by`` one; return whether it is a repeat."""
        if by == "token" and (token is None or token != self.token):
            raise RefusedError(pausemesh.TokenMismatch)
        if by != "token" and "operator" not in self.ways:
            raise RefusedError(pausemesh.Forbidden)
        if self.answered is not None and self.answered[:2] == (by, key):
            if self.answered[2] != payload:
                raise RefusedError(pausemesh.IdempotencyConflict)
            return True
        self.expire_if_due(now)
        self._refuse_decided(pausemesh.TokenAlreadyUsed, pausemesh.ContinuationCancelled)
        self.status, self.answered = "resumed", (by, key, payload)
        self.version += 1
        return False

    def cancel(self, reason: str, expected: int | None, now: datetime) -> bool:
        """Take it back; return whether it is a repeat."""
        if self.status == "cancelled" and self.reason == reason and expected in {None, self.version - 1}:
            return True
        self._refuse_stale(expected)
        self.expire_if_due(now)
        self._refuse_decided(pausemesh.InvalidTransition, pausemesh.InvalidTransition)
        self.status, self.reason = "cancelled", reason
        self.version += 1
        return False

    def reissue(self, expected: int | None, now: datetime) -> None:
        """Let go of the token; the new one is told by the product."""
        if "token" not in self.ways:
            raise RefusedError(pausemesh.Forbidden)
        self._refuse_stale(expected)
        self.expire_if_due(now)
        self._refuse_decided(pausemesh.TokenAlreadyUsed, pausemesh.ContinuationCancelled)
        if self.reissues == _REISSUES:
            raise RefusedError(pausemesh.InvalidTransition)
        self.reissues += 1
        self.version += 1

    def claim(self, lease: timedelta, now: datetime, seen: datetime) -> int:
        """Take the claim; return its fence. ``seen`` is the time of who looks, which may be wrong."""
        self._refuse_unanswered(min(now, seen))
        if self.result is not None:
            raise RefusedError(pausemesh.ClaimDone)
        if self._is_live(now):
            raise RefusedError(pausemesh.ClaimHeld)
        self.fence += 1
        self.held, self.lease_until = True, now + lease
        return self.fence

    def release(self, fence: int, now: datetime) -> None:
        """Give the claim back, where it is still this holder's."""
        if self.holds(fence, now):
            self.held = False

    def finish(self, fence: int, result: int, now: datetime) -> None:
        """Be done."""
        if self.result is not None:
            if self.result == (fence, result):
                return
            raise RefusedError(pausemesh.ClaimDone if self.result[0] == fence else pausemesh.LeaseLost)
        self._refuse_stale_holder(fence, now)
        self.result = (fence, result)

    def holds(self, fence: int, now: datetime) -> bool:
        """Tell whether the holder under this fence has a live lease and is not done."""
        return fence == self.fence and self._is_live(now)

    def is_pending(self) -> bool:
        """Tell whether it is open."""
        return self.status == "pending"

    def is_free(self) -> bool:
        """Tell whether it was answered and nobody has carried it on."""
        return self.status == "resumed" and self.result is None

    def in_doubt(self) -> list[str]:
        """Return the keys of the effects of which nobody knows what came."""
        return [key for key, work in self.works.items() if work.status in {"started", "unknown"}]

    def start(self, fence: int, key: str, argument: int, now: datetime) -> bool:
        """Be about to do something; return whether it shall be done, and False where it was."""
        work = self.works.get(key)
        if work is not None:
            if work.argument != argument:
                raise RefusedError(pausemesh.EffectConflict)
            if work.status == "completed":
                return False
            if work.status != "failed":
                raise RefusedError(pausemesh.EffectUnknown, *self._if_stale(fence, now))
        self._refuse_stale_holder(fence, now)
        attempts = 1 if work is None else work.attempts + 1
        self.works[key] = Work(argument, "started", fence, attempts)
        return True

    def end(self, fence: int, key: str, status: str, now: datetime) -> bool:
        """Record what came of it; return whether that could be recorded."""
        if not self.holds(fence, now):
            return False
        work = self.works[key]
        work.status, work.result = status, work.argument if status == "completed" else None
        return True

    def resolve(self, key: str, status: str, how: tuple[str, str], now: datetime, fence: int) -> None:
        """Settle an effect as the holder under ``fence``; ``how`` is evidence and author.

        Nothing runs while the holder says so: in this machine a holder does one thing at a time.
        """
        work = self._open_work(key, status, how, self._if_stale(fence, now))
        if work is None:
            return
        if work.status == "started" and work.fence > fence:
            raise RefusedError(pausemesh.InvalidTransition, pausemesh.LeaseLost)
        self._refuse_stale_holder(fence, now)
        work.status, work.resolution, work.result = status, how, None

    def resolve_as_admin(self, key: str, status: str, how: tuple[str, str], now: datetime, seen: datetime) -> None:
        """Settle an effect from outside; ``seen`` is the time of who looks, which may be wrong."""
        self._refuse_unanswered(min(now, seen))
        work = self._open_work(key, status, how, ())
        if work is None:
            return
        if work.status == "started" and self.holds(work.fence, now):
            raise RefusedError(pausemesh.InvalidTransition)
        work.status, work.resolution, work.result = status, how, None

    def _open_work(
        self, key: str, status: str, how: tuple[str, str], if_stale: tuple[type[PauseMeshError], ...]
    ) -> Work | None:
        """Return the effect that is to be settled, or None where it was, and just so."""
        work = self.works.get(key)
        if work is None:
            raise RefusedError(pausemesh.ClaimNotFound)
        if work.status in {"started", "unknown"}:
            return work
        if (work.status, work.resolution) == (status, how):
            return None
        raise RefusedError(pausemesh.InvalidTransition, *if_stale)

    def _is_live(self, now: datetime) -> bool:
        return self.held and self.result is None and self.lease_until is not None and now < self.lease_until

    def _refuse_stale_holder(self, fence: int, now: datetime) -> None:
        if not self.holds(fence, now):
            raise RefusedError(pausemesh.LeaseLost)

    def _if_stale(self, fence: int, now: datetime) -> tuple[type[PauseMeshError], ...]:
        """Return what a stale holder may be told instead; what else it is told, it records nothing."""
        return () if self.holds(fence, now) else (pausemesh.LeaseLost,)

    def _refuse_unanswered(self, now: datetime) -> None:
        self.expire_if_due(now)
        if self.status != "resumed":
            raise RefusedError(pausemesh.InvalidTransition)

    def _refuse_stale(self, expected: int | None) -> None:
        known = {None, self.version, self.version - 1} if self.status == "expired" else {None, self.version}
        if expected not in known:
            raise RefusedError(pausemesh.VersionConflict)

    def _refuse_decided(self, resumed: type[PauseMeshError], cancelled: type[PauseMeshError]) -> None:
        refusals = {"resumed": resumed, "cancelled": cancelled, "expired": pausemesh.ContinuationExpired}
        if self.status in refusals:
            raise RefusedError(refusals[self.status])
