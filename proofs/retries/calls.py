"""The calls that are retried, and the processes that make them."""

import asyncio
import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import Mesh, SqliteEventStore
from pausemesh.core.canonical import canonical_bytes
from proofs.children import Voice

PERSON: Final = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)
KINDS: Final = ("create", "resume", "answer", "cancel")
LIFE: Final = timedelta(days=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A call under a key; each time it is made it is the same.

    Attributes:
        kind: one of ``KINDS``.
        key: the idempotency key, or the reason of a cancellation.
        id: the question's, where it is there before the call.
        token: the question's.
    """

    kind: str
    key: str
    id: str = ""
    token: str = ""

    async def make(self, mesh: Mesh) -> tuple[str, bool]:
        """Make it; return the continuation that it is told, as canonical JSON, and whether as a replay."""
        if self.kind == "create":
            created = await mesh.create(
                payload={"message": self.key}, correlation_id="trip", idempotency_key=self.key, expires_in=LIFE
            )
            return shown(created.continuation), created.replayed
        if self.kind == "resume":
            outcome = await mesh.resume(self.id, token=self.token, idempotency_key=self.key, payload=[self.key, 0.1])
        elif self.kind == "answer":
            outcome = await mesh.answer(self.id, by=PERSON, idempotency_key=self.key, payload={"é": self.key})
        else:
            outcome = await mesh.cancel(self.id, by=PERSON, reason=self.key)
        return shown(outcome.continuation), outcome.replayed


def shown(continuation: pausemesh.Continuation) -> str:
    """Return the envelope as canonical JSON."""
    return canonical_bytes(pausemesh.continuation_to_json(continuation)).decode()


async def prepare(mesh: Mesh, name: str, count: int) -> list[Call]:
    """Ask the questions that so many calls need, and return the calls, of all kinds in turn."""
    return [await _prepared(mesh, KINDS[number % len(KINDS)], f"{name}-{number}") for number in range(count)]


async def _prepared(mesh: Mesh, kind: str, key: str) -> Call:
    if kind == "create":
        return Call(kind, key)
    created = await mesh.create(payload={"message": key}, expires_in=LIFE)
    return Call(kind, key, created.continuation.id, created.resume_token or "")


def make_all_at_once(voice: Voice, *, path: Path, calls: list[Call]) -> None:
    """As one of several: when told to, make each call twice at the same time, all of them at once."""
    asyncio.run(_make_all_at_once(voice, path, calls))


async def _make_all_at_once(voice: Voice, path: Path, calls: list[Call]) -> None:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        voice.say(ready=True)
        await asyncio.to_thread(voice.hear)
        answers = await asyncio.gather(*[call.make(mesh) for call in calls for _ in range(2)])
        voice.say(answers=answers)
    await store.close()


def make_each(voice: Voice, *, path: Path, calls: list[Call]) -> None:
    """Make all calls, each again at once, and tell every answer; then wait to be killed."""
    asyncio.run(_make_each(voice, path, calls))


async def _make_each(voice: Voice, path: Path, calls: list[Call]) -> None:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        for number, call in enumerate(calls):
            voice.say(call=number, answer=await call.make(mesh))
            voice.say(call=number, answer=await call.make(mesh))
        await asyncio.Event().wait()
