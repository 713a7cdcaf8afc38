"""A process that answers every question, as all the others do at the same time."""

import asyncio
import dataclasses
import random
from pathlib import Path
from typing import Final

import pausemesh
from pausemesh import Continuation, Mesh, Outcome, PauseMeshError, RecordedOutcome, SqliteEventStore
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.values import JsonValue
from pausemesh.records import Appended, Refused, Write
from proofs.children import Line, Voice
from proofs.races.blind import append_blindly

SCOPES: Final = ("default", "second")
_OPERATORS: Final = 2
"""How many of the racers answer as operators; the others do so with the token."""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A question that waits for its race; ``foreign`` is the token of the question of that id in the other scope."""

    scope: str
    id: str
    token: str
    foreign: str


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Questions that are raced for at once; ``warm``: everybody has looked at them before the start."""

    questions: tuple[Question, ...]
    warm: bool


class WatchedStore(SqliteEventStore):
    """Counts how often it refused a write because somebody else was first."""

    refused = 0

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, or none."""
        result = await super().append(*writes)
        self.refused += isinstance(result, Refused)
        return result


class BlindStore(WatchedStore):
    """A store without compare-and-swap, as a control: whatever version is expected, the next one is written."""

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes in one commit, on whatever is there."""
        return await append_blindly(super().append, writes)


def race(voice: Voice, *, path: Path, racer: int, batches: list[Batch], store: type[WatchedStore]) -> None:
    """Race for each batch when told to."""
    asyncio.run(_race(voice, path, racer, batches, store))


async def _race(voice: Voice, path: Path, racer: int, batches: list[Batch], kind: type[WatchedStore]) -> None:
    store = await kind.open(path, pausemesh.SystemClock(), readers=1)
    async with (
        pausemesh.open(store, scope=SCOPES[0]) as first,
        pausemesh.open(store, scope=SCOPES[1]) as second,
    ):
        runner = Racer(racer, dict(zip(SCOPES, (first, second), strict=True)))
        for batch in batches:
            if batch.warm:
                await asyncio.gather(*[runner.look(question) for question in batch.questions])
            voice.say(ready=True)
            await asyncio.to_thread(voice.hear)
            order = list(enumerate(batch.questions))
            random.Random(racer).shuffle(order)
            attempts = await asyncio.gather(*[runner.run(number, question) for number, question in order])
            voice.say(attempts=attempts, refused=store.refused)
    await store.close()


class Racer:
    """One of those who race.

    Args:
        number: its own, which its bodies and keys name.
        meshes: by scope.
    """

    def __init__(self, number: int, meshes: dict[str, Mesh]) -> None:
        self._number = number
        self._meshes = meshes
        self._by = {
            scope: pausemesh.Principal(id=f"racer-{number}", role=pausemesh.Role.EDITOR, scope=scope)
            for scope in meshes
        }

    async def look(self, question: Question) -> None:
        """Look at a question, so that the next decision needs no look-up."""
        await self._meshes[question.scope].inspect(question.id)

    async def run(self, number: int, question: Question) -> Line:
        """Answer; who wins does the very same once more, who does not tries the token of the other scope."""
        try:
            outcome = await self._answer(question, question.token)
        except PauseMeshError as error:
            return {
                "question": number,
                "code": error.code,
                "recorded": _recorded(getattr(error, "recorded", None)),
                "foreign": await self._foreign(number, question),
            }
        return {
            "question": number,
            "won": _shown(outcome.continuation),
            "replayed": outcome.replayed,
            "recorded": _recorded(outcome.continuation.recorded),
            "again": await self._again(question),
        }

    async def _again(self, question: Question) -> str:
        """Return what an exact repeat is told."""
        try:
            again = await self._answer(question, question.token)
        except PauseMeshError as error:
            return error.code
        return _shown(again.continuation) if again.replayed else "not a replay"

    async def _foreign(self, number: int, question: Question) -> str | None:
        """Return what comes of the token of the question of the same id in the other scope, tried now and then."""
        if number % 8 or self._is_operator:
            return None
        try:
            await self._answer(question, question.foreign)
        except PauseMeshError as error:
            return error.code
        return "accepted"

    async def _answer(self, question: Question, token: str) -> Outcome:
        mesh, key, payload = self._meshes[question.scope], f"key-{self._number}", {"racer": self._number}
        if self._is_operator:
            by = self._by[question.scope]
            return await mesh.answer(question.id, by=by, idempotency_key=key, payload=payload)
        return await mesh.resume(question.id, token=token, idempotency_key=key, payload=payload)

    @property
    def _is_operator(self) -> bool:
        return self._number < _OPERATORS


def _shown(continuation: Continuation) -> str:
    return canonical_bytes(pausemesh.continuation_to_json(continuation)).decode()


def _recorded(recorded: RecordedOutcome | None) -> JsonValue:
    return None if recorded is None else [recorded.status, recorded.version, recorded.decided_at.isoformat()]
