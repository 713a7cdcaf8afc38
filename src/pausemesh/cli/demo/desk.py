"""A desk where people answer, as a process: it makes a whole volley of calls at one instant.

Its one argument is the mesh's URL. Each line that it hears is a volley: ``at``, the instant (seconds of the epoch),
and ``calls``, each a ``Call`` as JSON. It prints what each caller was told.
"""

import asyncio
import dataclasses
import sys
import time
from typing import Any

import pausemesh
from pausemesh.cli.demo.envelopes import text_of
from pausemesh.cli.demo.wire import Step, hear, say

ACCEPTED = "ACCEPTED"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One answer on its way.

    Attributes:
        label: the call's own, in whatever is said of it.
        question: the question's id.
        key: the idempotency key.
        payload: the answer.
        token: opens the question; without one an operator answers.
        operator: who that is.
        shown_digest: of what the operator was shown.
    """

    label: str
    question: str
    key: str
    payload: Any
    token: str | None = dataclasses.field(default=None, repr=False)
    operator: str | None = None
    shown_digest: str | None = None

    @property
    def way(self) -> str:
        """How it comes in."""
        return "operator" if self.token is None else "token"


async def make(mesh: pausemesh.Mesh, call: Call) -> None:
    """Make a call and print what came of it."""
    try:
        outcome = await _outcome(mesh, call)
    except pausemesh.PauseMeshError as error:
        recorded = getattr(error, "recorded", None)
        say(Step.TOLD, label=call.label, code=error.code, status=None if recorded is None else recorded.status)
        return
    say(
        Step.TOLD,
        label=call.label,
        code=ACCEPTED,
        status=outcome.continuation.status,
        replayed=outcome.replayed,
        envelope=text_of(outcome.continuation),
    )


async def _outcome(mesh: pausemesh.Mesh, call: Call) -> pausemesh.Outcome:
    if call.token is not None:
        return await mesh.resume(call.question, token=call.token, idempotency_key=call.key, payload=call.payload)
    assert call.operator is not None, "a call has a token or an operator"
    return await mesh.answer(
        call.question,
        by=pausemesh.Principal(id=call.operator, role=pausemesh.Role.EDITOR),
        idempotency_key=call.key,
        payload=call.payload,
        shown_digest=call.shown_digest,
    )


async def _main(url: str) -> None:
    async with pausemesh.open(url) as mesh:
        say(Step.READY)
        while (volley := await hear()) is not None:
            calls = [Call(**call) for call in volley["calls"]]
            await asyncio.sleep(volley["at"] - time.time())
            await asyncio.gather(*(make(mesh, call) for call in calls))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
