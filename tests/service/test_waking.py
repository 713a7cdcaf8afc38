"""Waking: nobody sleeps through a change, and the log is followed only while somebody waits."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

import pausemesh
from pausemesh.ports import EventStore
from pausemesh.service import wakeups
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA


async def test_a_lost_wakeup_is_noticed_by_looking(
    mesh: Mesh, replica: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(_store: EventStore) -> AsyncIterator[int]:
        await asyncio.Event().wait()
        yield 0

    monkeypatch.setattr(type(store), "wakeups", silent)
    monkeypatch.setattr(wakeups, "_BACKSTOP_SECONDS", 0.01)
    created = await mesh.create(payload="?")
    waiting = asyncio.create_task(replica.wait(created.continuation.id))
    await asyncio.sleep(0.03)
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    assert (await waiting).status == "resumed"


async def test_a_store_that_was_away_is_followed_again(
    mesh: Mesh, replica: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_seq, failures = store.last_seq, 2

    async def flaky() -> int:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise pausemesh.StoreUnavailable
        return await last_seq()

    monkeypatch.setattr(type(store), "last_seq", lambda _store: flaky())
    monkeypatch.setattr(wakeups, "_BACKSTOP_SECONDS", 0.01)
    created = await mesh.create(payload="?")
    waiting = asyncio.create_task(replica.wait(created.continuation.id))
    await asyncio.sleep(0.05)
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    assert (await waiting).status == "resumed"


async def test_who_waits_learns_that_the_store_was_closed(mesh: Mesh, replica: Mesh, store: EventStore) -> None:
    created = await mesh.create(payload="?")
    waiting = asyncio.create_task(replica.wait(created.continuation.id))
    await asyncio.sleep(0.02)
    await store.close()
    with pytest.raises(pausemesh.StoreClosed):
        await waiting


async def test_who_waits_is_sent_away_when_the_mesh_is_closed(store: EventStore, clock: ManualClock) -> None:
    async with pausemesh.open(store, clock=clock) as mesh:
        created = await mesh.create(payload="?", queue="q")
        waiting = [
            asyncio.create_task(mesh.wait(created.continuation.id)),
            asyncio.create_task(mesh.claim_next("q").__aenter__()),
        ]
        await asyncio.sleep(0.02)
    for one in waiting:
        with pytest.raises(pausemesh.StoreClosed):
            await one


@pytest.mark.parametrize("turns", range(8))
async def test_who_just_began_to_wait_is_sent_away_too(store: EventStore, clock: ManualClock, turns: int) -> None:
    async with pausemesh.open(store, clock=clock) as mesh:
        created = await mesh.create(payload="?")
        waiting = asyncio.create_task(mesh.wait(created.continuation.id))
        for _ in range(turns):
            await asyncio.sleep(0)
    with pytest.raises(pausemesh.StoreClosed):
        await waiting
    with pytest.raises(pausemesh.StoreClosed):
        await mesh.wait(created.continuation.id)


async def test_nobody_follows_the_log_once_nobody_waits(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    with pytest.raises(pausemesh.WaitTimeout):
        await mesh.wait(created.continuation.id, timeout=0.01)
    await asyncio.sleep(0.01)
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "pausemesh-wakeups"]


async def test_a_thousand_wait_at_once_and_all_are_woken(mesh: Mesh, replica: Mesh) -> None:
    created = [await mesh.create(payload=number) for number in range(50)]
    waiting = [asyncio.create_task(replica.wait(one.continuation.id)) for one in created for _ in range(20)]
    await asyncio.sleep(0)
    for one in created:
        await mesh.answer(one.continuation.id, by=ANA, idempotency_key="k", payload=1)
    assert {one.status for one in await asyncio.gather(*waiting)} == {"resumed"}


async def test_who_waits_without_a_deadline_sleeps_long(mesh: Mesh) -> None:
    endless = dataclasses.replace((await mesh.create(payload="?")).continuation, expires_at=None)
    assert mesh._waiting._seconds_until_due(endless) == 3_600  # noqa: SLF001 - only a pause has no deadline
