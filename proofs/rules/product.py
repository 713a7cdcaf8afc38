"""The product as the machine drives it: two meshes on one store, one of them with a clock of its own."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import pausemesh
from pausemesh import Mesh, Turn
from pausemesh.core.values import JsonValue
from pausemesh.ports import Clock, EventStore
from pausemesh.testing.clock import ManualClock
from proofs.rules.model import Question

LEASE: Final = timedelta(seconds=60)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HeldTurn:
    """A turn, and the question that it is about."""

    turn: Turn[JsonValue]
    question: Question


class SkewedClock:
    """Another clock, which is wrong by so much.

    Attributes:
        ahead: by how much; negative: behind.
    """

    def __init__(self, base: ManualClock) -> None:
        self._base = base
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        """Return the time that it shows."""
        return self._base.now() + self.ahead


class Product:
    """A store with the true clock, a mesh with the same one, and a mesh with a clock that may be wrong.

    Args:
        open_store: opens an empty one.
    """

    def __init__(self, open_store: Callable[[ManualClock], Awaitable[EventStore]]) -> None:
        self.clock = ManualClock()
        self.skewed_clock = SkewedClock(self.clock)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._turns: list[Turn[JsonValue]] = []
        self._meshes = self.do(self._open(open_store))

    @property
    def now(self) -> datetime:
        """The store's time."""
        return self.clock.now()

    def clock_of(self, *, skewed: bool) -> Clock:
        """Return a mesh's clock."""
        return self.skewed_clock if skewed else self.clock

    def mesh(self, *, skewed: bool) -> Mesh:
        """Return one of the two."""
        return self._meshes[skewed]

    def do(self, call: Coroutine[Any, Any, T]) -> T:
        """Do a call to its end."""
        return self._runner.run(call)

    async def claim(self, question: Question, *, skewed: bool) -> HeldTurn:
        """Enter a claim, and stay in it."""
        name = f"worker-{len(self._turns)}"
        turn = await self.mesh(skewed=skewed).claim(question.id, lease=LEASE, worker=name).__aenter__()
        self._turns.append(turn)
        return HeldTurn(turn, question)

    def close(self) -> None:
        """Let go of everything."""
        try:
            self.do(self._close())
        finally:
            self._runner.close()

    async def _open(self, open_store: Callable[[ManualClock], Awaitable[EventStore]]) -> tuple[Mesh, Mesh]:
        store = await open_store(self.clock)
        self._stack.push_async_callback(store.close)
        return (
            await self._stack.enter_async_context(pausemesh.open(store, clock=self.clock)),
            await self._stack.enter_async_context(pausemesh.open(store, clock=self.skewed_clock)),
        )

    async def _close(self) -> None:
        async with self._stack:
            for turn in self._turns:
                await turn.release()
