"""What happens in a scope is told in commit order, whole, and without what is nobody's business."""

import contextlib
import dataclasses

import pytest

import pausemesh
from pausemesh.core import limits
from pausemesh.core.cursor import write_cursor
from pausemesh.service.changes import Change, Changes
from pausemesh.service.mesh import Mesh
from pausemesh.service.nouns import KEYS_SCOPE
from tests.service.conftest import ANA, BOT


async def first_after(mesh: Mesh, seq: int, count: int) -> list[Change]:
    found: list[Change] = []
    async with contextlib.aclosing(mesh.changes.after(seq)) as batches:
        async for batch in batches:
            found += batch
            if len(found) >= count:
                return found
    raise AssertionError


async def test_a_question_is_told_from_its_creation_to_its_end(mesh: Mesh, replica: Mesh) -> None:
    start = await mesh.changes.latest()
    created = await mesh.create(payload="?", by=BOT)
    await mesh.create_key("viewer")
    await replica.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    async with replica.claim(created.continuation.id):
        pass
    changes = await first_after(mesh, start, 3)
    noun_id = created.continuation.id
    assert [(one.noun, one.noun_id, one.continuation_id, one.version, one.status) for one in changes] == [
        ("continuation", noun_id, noun_id, 1, "pending"),
        ("continuation", noun_id, noun_id, 2, "resumed"),
        ("claim", noun_id, noun_id, 1, "done"),
    ]
    assert await mesh.changes.creator_of(noun_id) == "bot"
    assert await first_after(mesh, changes[0].seq, 2) == changes[1:]


async def test_who_waits_is_woken_by_another_process(mesh: Mesh, replica: Mesh) -> None:
    async with contextlib.aclosing(mesh.changes.after(await mesh.changes.latest())) as batches:
        assert await anext(batches) == ()
        created = await replica.create(payload="?")
        batch: tuple[Change, ...] = ()
        while not batch:
            batch = await anext(batches)
        assert [one.noun_id for one in batch] == [created.continuation.id]


async def test_another_scope_hears_nothing(mesh: Mesh) -> None:
    other = mesh.in_scope("elsewhere")
    start = await mesh.changes.latest()
    await mesh.create(payload="?")
    theirs = await other.create(payload="?")
    assert [one.noun_id for one in await first_after(other, start, 1)] == [theirs.continuation.id]


async def test_an_event_of_a_kind_that_concerns_nobody_is_passed_over(mesh: Mesh) -> None:
    await mesh.create_key("viewer")
    world = dataclasses.replace(mesh._world, scope=KEYS_SCOPE)  # noqa: SLF001 - no mesh is in this scope
    log = Changes(world, mesh._reads, mesh._wakeups)  # noqa: SLF001 - as above
    async with contextlib.aclosing(log.after(0)) as batches:
        assert await anext(batches) == ()


async def test_a_position_is_only_this_scopes(mesh: Mesh) -> None:
    position = mesh.changes.position_of(7)
    assert mesh.changes.seq_of(position) == 7
    with pytest.raises(pausemesh.InvalidCursor):
        mesh.in_scope("elsewhere").changes.seq_of(position)
    keys = mesh._world.policy.cursor_keys  # noqa: SLF001 - only its owner can make such a position
    with pytest.raises(pausemesh.InvalidCursor):
        mesh.changes.seq_of(write_cursor(keys, ["changes-v1", "default"], "7"))


async def test_a_long_log_is_told_batch_by_batch(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEED_MAX", 2)
    start = await mesh.changes.latest()
    asked = [(await mesh.create(payload="?")).continuation.id for _ in range(5)]
    assert [one.noun_id for one in await first_after(mesh, start, 5)] == asked
