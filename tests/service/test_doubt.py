"""A call whose reply was lost stays in doubt where the store cannot be asked what became of it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

import pytest

import pausemesh
from pausemesh import CreatedContinuation, Mesh, OutcomeUnknown, Role, StoreUnavailable
from pausemesh.records import Appended, Held, Lease, Refused, Stream, Write
from pausemesh.stores.memory import MemoryEventStore

T = TypeVar("T")


class CutStore(MemoryEventStore):
    """Does the next write, says that its outcome is unknown, and cannot be reached from then on."""

    is_cutting = False
    is_gone = False

    async def append(self, *writes: Write) -> Appended | Refused:
        """Store all writes, or none."""
        self._refuse()
        return self._cut(await super().append(*writes))

    async def take(self, scope: str, stream: str, worker: str, lease: timedelta) -> Lease | Held | None:
        """Take a claim."""
        self._refuse()
        return self._cut(await super().take(scope, stream, worker, lease))

    async def load(self, scope: str, stream: str) -> Stream | None:
        """Return a stream."""
        self._refuse()
        return await super().load(scope, stream)

    def _refuse(self) -> None:
        if self.is_gone:
            raise StoreUnavailable

    def _cut(self, result: T) -> T:
        if self.is_cutting:
            self.is_gone = True
            raise OutcomeUnknown
        return result


async def decided(mesh: Mesh) -> CreatedContinuation:
    asked = await mesh.create(payload={})
    assert asked.resume_token is not None
    await mesh.resume(asked.continuation.id, token=asked.resume_token, idempotency_key="r", payload=1)
    return asked


async def create(mesh: Mesh, _decided: CreatedContinuation) -> object:
    return await mesh.create(payload={}, idempotency_key="k")


async def create_key(mesh: Mesh, _decided: CreatedContinuation) -> object:
    return await mesh.create_key(role=Role.AGENT)


async def claim(mesh: Mesh, decided: CreatedContinuation) -> object:
    async with mesh.claim(decided.continuation.id) as turn:
        return turn


@pytest.mark.parametrize("call", [create, create_key, claim])
async def test_it_is_not_told_that_nothing_was_written(
    call: Callable[[Mesh, CreatedContinuation], Awaitable[object]],
) -> None:
    store = CutStore(pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        asked = await decided(mesh)
        store.is_cutting = True
        with pytest.raises(OutcomeUnknown):
            await call(mesh, asked)
        store.is_cutting = store.is_gone = False


async def test_nor_is_a_start_of_an_effect() -> None:
    store = CutStore(pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        asked = await decided(mesh)
        async with mesh.claim(asked.continuation.id) as turn:
            store.is_cutting = True
            with pytest.raises(OutcomeUnknown):
                await turn.effect("book", arguments={}, run=lambda: None)
            store.is_cutting = store.is_gone = False
