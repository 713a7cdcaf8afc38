"""Looks at a question from outside, and compares all that can be seen with the model."""

from datetime import datetime
from typing import Final

from pausemesh import Mesh, Status
from pausemesh.core.continuation_events import Created, Expired, Resumed
from proofs.rules.model import Question

_DECIDED_BY: Final = {"Resumed": "resumed", "Cancelled": "cancelled", "Expired": "expired"}


async def look(mesh: Mesh, question: Question, now: datetime) -> None:
    """Compare status, version, claim, effects and history.

    Raises:
        AssertionError: something is not as it should be.
    """
    seen = await mesh.inspect(question.id)
    assert (seen.status.value, seen.version, seen.expires_at) == (
        question.status,
        question.version,
        question.expires_at,
    )
    claim = None if seen.claim is None else (seen.claim.status.value, seen.claim.fence)
    assert claim == _claim(question, now)
    if seen.status is not Status.PENDING:
        effects = [(one.key, one.status.value, one.fence, one.attempts) for one in await mesh.effects(question.id)]
        wanted = [(key, work.status, work.fence, work.attempts) for key, work in sorted(question.works.items())]
        assert effects == wanted
    await _look_at_history(mesh, question)


async def _look_at_history(mesh: Mesh, question: Question) -> None:
    history = await mesh.history(question.id)
    assert [stamped.version for stamped in history] == list(range(1, question.version + 1))
    kinds = [type(stamped.event).__name__ for stamped in history]
    assert kinds.count(Created.__name__) == 1
    ends = [place for place, kind in enumerate(kinds) if kind in _DECIDED_BY]
    if question.status == "pending":
        assert ends == []
        return
    assert ends == [len(kinds) - 1], "something came after its end"
    last = history[-1]
    assert _DECIDED_BY[kinds[-1]] == question.status
    assert (last.at >= question.expires_at) is isinstance(last.event, Expired), (
        "decided on the wrong side of its deadline"
    )
    if isinstance(last.event, Resumed):
        assert question.answered is not None
        assert (last.event.idempotency_key, last.event.payload.value) == question.answered[1:]


def _claim(question: Question, now: datetime) -> tuple[str, int] | None:
    if question.status == "pending":
        return None
    if question.result is not None:
        return "done", question.fence
    if not question.held:
        return "open", question.fence
    return "held" if question.holds(question.fence, now) else "lapsed", question.fence
