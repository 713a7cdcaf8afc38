"""The process that is killed: it does all that the library can do, as fast as it can, and tells each step."""

import asyncio
import dataclasses
import itertools
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

import pausemesh
from pausemesh import CreatedContinuation, Mesh, Outcome, OutcomeUnknown, PauseMeshError, SqliteEventStore, Turn
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.values import JsonValue
from pausemesh.records import CrashPoint
from proofs.children import Voice

PERSON: Final = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)
LEASE: Final = timedelta(seconds=60)
SHORT_LIFE: Final = timedelta(minutes=10)
_LIVES_AT_ONCE: Final = 12

T = TypeVar("T")


def shown(continuation: pausemesh.Continuation) -> str:
    """Return the envelope as its canonical JSON."""
    return canonical_bytes(pausemesh.continuation_to_json(continuation)).decode()


class Victim:
    """Lives of questions, several at once, until the process is killed.

    Args:
        mesh: to work with.
        voice: hears each call before it is made, and its answer after it came.
        name: goes into every mark, so that no two processes use the same, and seeds what is random.
    """

    def __init__(self, mesh: Mesh, voice: Voice, name: str) -> None:
        self._mesh = mesh
        self._voice = voice
        self._name = name
        self._choices = random.Random(name)
        self._numbers = itertools.count(1)

    async def live_on(self) -> None:
        """Live one life after the other."""
        while True:
            await self._live()

    async def _live(self) -> None:
        created = await self._create()
        if created is None:
            return
        noun_id, token = created.continuation.id, created.resume_token or ""
        way = self._choices.choices(["answer", "cancel", "reissue", "leave"], [60, 15, 10, 15])[0]
        if way == "leave":
            return
        if way == "reissue":
            again = await self._reissue(noun_id)
            token = token if again is None else again.resume_token or ""
        deciding = [self._resume(noun_id, token), self._resume(noun_id, token), self._answer(noun_id)]
        if way == "cancel":
            deciding.append(self._cancel(noun_id))
        self._choices.shuffle(deciding)
        await asyncio.gather(*deciding[: self._choices.randint(1, len(deciding))])
        for coroutine in deciding:
            coroutine.close()
        await asyncio.gather(self._go_on(noun_id), self._go_on(noun_id))

    async def _create(self) -> CreatedContinuation | None:
        mark = self._mark()
        key = mark if self._choices.random() < 0.7 else None
        life = SHORT_LIFE if self._choices.random() < 0.2 else None
        return await self._report(
            "create",
            self._mesh.create(payload={"mark": mark}, correlation_id=mark, idempotency_key=key, expires_in=life),
            lambda created: {
                "id": created.continuation.id,
                "token": created.resume_token,
                "shown": shown(created.continuation),
            },
            mark=mark,
            key=key,
            life=None if life is None else life.total_seconds(),
        )

    async def _reissue(self, noun_id: str) -> CreatedContinuation | None:
        return await self._report(
            "reissue",
            self._mesh.reissue_token(noun_id),
            lambda again: {"token": again.resume_token, "version": again.continuation.version},
            id=noun_id,
        )

    async def _resume(self, noun_id: str, token: str) -> Outcome | None:
        mark = self._mark()
        return await self._report(
            "resume",
            self._mesh.resume(noun_id, token=token, idempotency_key=mark, payload={"mark": mark}),
            _shown_outcome,
            id=noun_id,
            token=token,
            mark=mark,
        )

    async def _answer(self, noun_id: str) -> Outcome | None:
        mark = self._mark()
        return await self._report(
            "answer",
            self._mesh.answer(noun_id, by=PERSON, idempotency_key=mark, payload={"mark": mark}),
            _shown_outcome,
            id=noun_id,
            mark=mark,
        )

    async def _cancel(self, noun_id: str) -> Outcome | None:
        mark = self._mark()
        return await self._report(
            "cancel", self._mesh.cancel(noun_id, reason=mark, by=PERSON), _shown_outcome, id=noun_id, mark=mark
        )

    async def _go_on(self, noun_id: str) -> None:
        worker = self._mark()
        async with AsyncExitStack() as stack:
            claiming = stack.enter_async_context(self._mesh.claim(noun_id, worker=worker, lease=LEASE))
            turn = await self._report("claim", claiming, lambda turn: {"fence": turn.fence}, id=noun_id, mark=worker)
            if turn is None:
                return
            for key in ("first", "second")[: self._choices.randint(0, 2)]:
                await self._effect(turn, key)
            await self._end(turn)

    async def _effect(self, turn: Turn[JsonValue], key: str) -> None:
        noun_id = turn.continuation.id

        async def run() -> JsonValue:
            self._voice.say(ran=[noun_id, key], fence=turn.fence)
            return {"fence": turn.fence}

        await self._report(
            "effect",
            turn.effect(key, run=run),
            lambda result: {"result": result},
            id=noun_id,
            key=key,
            fence=turn.fence,
        )

    async def _end(self, turn: Turn[JsonValue]) -> None:
        noun_id, worker = turn.continuation.id, turn.worker
        if self._choices.random() < 0.3:
            await self._report("release", turn.release(), lambda _: {}, id=noun_id, mark=worker, fence=turn.fence)
        else:
            await self._report("done", turn.done(worker), lambda _: {}, id=noun_id, mark=worker, fence=turn.fence)

    def _mark(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    async def _report(
        self, do: str, call: Awaitable[T], answer_of: Callable[[T], dict[str, JsonValue]], **arguments: JsonValue
    ) -> T | None:
        """Tell a call, make it, and tell its answer; a call whose outcome is unknown stays without one."""
        number = next(self._numbers)
        self._voice.say(n=number, do=do, **arguments)
        try:
            result = await call
        except OutcomeUnknown:
            return None
        except PauseMeshError as error:
            self._voice.say(n=number, no=error.code)
            return None
        self._voice.say(n=number, ok=answer_of(result))
        return result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a victim does until it is killed.

    Attributes:
        name: its own.
        fault: where it kills itself, if it does.
        store: the kind of store.
    """

    name: str
    fault: Callable[[CrashPoint], None] | None = None
    store: type[SqliteEventStore] = SqliteEventStore


def work(voice: Voice, *, path: Path, job: Job) -> None:
    """Open the file and live until the process is killed."""
    asyncio.run(_work(voice, path, job))


async def _work(voice: Voice, path: Path, job: Job) -> None:
    store = await job.store.open(path, pausemesh.SystemClock(), fault=job.fault)
    voice.say(open=True)
    async with pausemesh.open(store) as mesh, asyncio.TaskGroup() as group:
        victim = Victim(mesh, voice, job.name)
        for _ in range(_LIVES_AT_ONCE):
            group.create_task(victim.live_on())


def _shown_outcome(outcome: Outcome) -> dict[str, JsonValue]:
    return {"shown": shown(outcome.continuation)}
