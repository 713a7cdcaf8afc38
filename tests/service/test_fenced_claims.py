"""Claims of callers that hold nothing between two calls: an id and a fence, and every repeat tells the same."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import pausemesh
from pausemesh.core import limits
from pausemesh.core.values import JsonValue
from pausemesh.records import Lease
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, BOT, EYE, POST, STRANGER

LEASE = timedelta(seconds=60)
APPROVAL: JsonValue = {"action": {"name": "book", "arguments": {"flight": "AZ1"}}}


async def taken(mesh: Mesh, payload: JsonValue = "?", answer: JsonValue = 1) -> tuple[str, Lease]:
    created = await mesh.create(payload=payload)
    noun_id = created.continuation.id
    await mesh.answer(noun_id, by=ANA, idempotency_key="k", payload=answer)
    _, lease = await mesh.fenced.take(noun_id, worker="w1", lease=LEASE)
    return noun_id, lease


async def test_a_claim_is_taken_renewed_and_done(mesh: Mesh, replica: Mesh, clock: ManualClock) -> None:
    noun_id, lease = await taken(mesh)
    clock.advance(timedelta(seconds=50))
    renewed = await replica.fenced.renew(noun_id, lease.fence, lease=LEASE)
    assert renewed.until > lease.until
    clock.advance(timedelta(seconds=50))
    done = await replica.fenced.finish(noun_id, lease.fence, result={"ticket": 7})
    assert done.claim is not None
    assert (done.claim.status, done.claim.worker) == ("done", "w1")
    again = await mesh.fenced.finish(noun_id, lease.fence, result={"ticket": 7})
    assert again.claim == done.claim
    with pytest.raises(pausemesh.ClaimDone):
        await mesh.fenced.finish(noun_id, lease.fence, result=None)


async def test_the_next_of_a_queue_is_taken_or_none_in_time(mesh: Mesh) -> None:
    assert await mesh.fenced.take_next("q", worker="w", lease=LEASE, timeout=0) is None
    created = await mesh.create(payload="?", queue="q")
    waiting = asyncio.create_task(mesh.fenced.take_next("q", worker="w", lease=LEASE, timeout=30))
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    found = await waiting
    assert found is not None
    continuation, lease = found
    assert (continuation.id, continuation.resume_payload, lease.fence) == (created.continuation.id, 1, 1)


async def test_a_claim_that_is_given_back_is_free_at_once(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    assert await mesh.fenced.release(noun_id, lease.fence) is not None
    for call in (mesh.fenced.release(noun_id, lease.fence), mesh.fenced.renew(noun_id, lease.fence, lease=LEASE)):
        with pytest.raises(pausemesh.LeaseLost):
            await call
    _, later = await mesh.fenced.take(noun_id, worker="w2", lease=LEASE)
    assert later.fence == lease.fence + 1


async def test_a_worker_that_gives_up_says_why_and_may_say_it_again(mesh: Mesh, replica: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    for caller in (mesh, replica):
        told = await caller.fenced.fail(noun_id, lease.fence, reason="the airline is down")
        assert (told.worker, told.fence) == ("w1", lease.fence)
    with pytest.raises(pausemesh.LeaseLost):
        await mesh.fenced.fail(noun_id, lease.fence, reason="something else")
    _, later = await replica.fenced.take(noun_id, worker="w2", lease=LEASE)
    with pytest.raises(pausemesh.LeaseLost):
        await mesh.fenced.fail(noun_id, lease.fence, reason="the airline is down")
    await replica.fenced.fail(noun_id, later.fence)
    _, last = await mesh.fenced.take(noun_id, worker="w3", lease=LEASE)
    assert (await mesh.fenced.finish(noun_id, last.fence, result="done")).claim is not None


async def test_a_claim_that_was_released_did_not_fail(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    await mesh.fenced.release(noun_id, lease.fence)
    with pytest.raises(pausemesh.LeaseLost):
        await mesh.fenced.fail(noun_id, lease.fence)


async def test_failures_beyond_what_is_kept_still_give_the_claim_back(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    for _ in range(limits.EVENTS_PER_STREAM + 2):
        await mesh.fenced.fail(noun_id, lease.fence, reason="again")
        _, lease = await mesh.fenced.take(noun_id, worker="w", lease=LEASE)
    await mesh.fenced.fail(noun_id, lease.fence, reason="again")
    with pytest.raises(pausemesh.LeaseLost):
        await mesh.fenced.fail(noun_id, lease.fence, reason="again")
    _, lease = await mesh.fenced.take(noun_id, worker="w", lease=LEASE)
    await mesh.fenced.finish(noun_id, lease.fence)


async def test_a_fence_that_is_not_the_live_one_records_nothing(mesh: Mesh, clock: ManualClock) -> None:
    noun_id, lease = await taken(mesh)
    clock.advance(timedelta(seconds=61))
    fenced = mesh.fenced
    stale: tuple[Any, ...] = (
        lambda: fenced.renew(noun_id, lease.fence, lease=LEASE),
        lambda: fenced.release(noun_id, lease.fence),
        lambda: fenced.fail(noun_id, lease.fence),
        lambda: fenced.finish(noun_id, lease.fence),
        lambda: fenced.start_effect(noun_id, lease.fence, key="e"),
        lambda: fenced.record_outcome(noun_id, lease.fence, "e", completed=True),
    )
    for call in stale[:-1]:
        with pytest.raises(pausemesh.LeaseLost):
            await call()
    with pytest.raises(pausemesh.ClaimNotFound):
        await stale[-1]()
    await mesh.fenced.take(noun_id, worker="w2", lease=LEASE)
    for call in stale:
        with pytest.raises(pausemesh.LeaseLost):
            await call()
    assert await mesh.effects(noun_id) == []


async def test_a_lease_that_ends_while_it_is_given_back_is_lost(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    noun_id, lease = await taken(mesh)
    store = mesh._world.store  # noqa: SLF001 - the reply that a store gives when it was overtaken

    async def overtaken(_held: Lease) -> bool:
        return False

    monkeypatch.setattr(store, "release", overtaken)
    with pytest.raises(pausemesh.LeaseLost):
        await mesh.fenced.release(noun_id, lease.fence)


@pytest.mark.parametrize("claim_id", ["nothing", "pending", "unclaimed"])
async def test_what_was_never_claimed_is_no_claim(mesh: Mesh, claim_id: str) -> None:
    await mesh.create(payload="?", continuation_id="pending")
    await mesh.create(payload="?", continuation_id="unclaimed")
    await mesh.answer("unclaimed", by=ANA, idempotency_key="k", payload=1)
    with pytest.raises(pausemesh.ClaimNotFound):
        await mesh.fenced.finish(claim_id, 1)


@pytest.mark.parametrize("fence", [0, -1, True, "1", 1.0, None], ids=repr)
async def test_a_fence_is_a_positive_integer(mesh: Mesh, fence: Any) -> None:
    noun_id, _ = await taken(mesh)
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.fenced.finish(noun_id, fence)


async def test_an_effect_is_started_by_one_call_and_its_exact_repeat(mesh: Mesh, replica: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    start = {"key": "book", "kind": "booking", "arguments": {"flight": "AZ1"}}
    effect, is_repeat = await mesh.fenced.start_effect(noun_id, lease.fence, attempt="a1", **start)  # type: ignore[arg-type]
    assert (effect.status, effect.kind, is_repeat) == ("started", "booking", False)
    effect, is_repeat = await replica.fenced.start_effect(noun_id, lease.fence, attempt="a1", **start)  # type: ignore[arg-type]
    assert (effect.status, is_repeat) == ("started", True)
    for other in (None, "a2"):
        with pytest.raises(pausemesh.EffectUnknown):
            await mesh.fenced.start_effect(noun_id, lease.fence, attempt=other, **start)  # type: ignore[arg-type]


async def test_a_start_that_is_repeated_after_its_lease_is_not_told_that_nothing_was_recorded(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    noun_id, lease = await taken(mesh)
    for key in ("open", "done"):
        await mesh.fenced.start_effect(noun_id, lease.fence, key=key, attempt=f"start {key}")
    await mesh.fenced.record_outcome(noun_id, lease.fence, "done", completed=True, result=7)
    clock.advance(LEASE)
    with pytest.raises(pausemesh.EffectUnknown):
        await replica.fenced.start_effect(noun_id, lease.fence, key="open", attempt="start open")
    effect, is_repeat = await replica.fenced.start_effect(noun_id, lease.fence, key="done", attempt="start done")
    assert (effect.result, is_repeat) == (7, True)
    for key, attempt in (("open", None), ("open", "start other"), ("other", "start open")):
        with pytest.raises(pausemesh.LeaseLost):
            await replica.fenced.start_effect(noun_id, lease.fence, key=key, attempt=attempt)


async def test_the_same_end_from_two_sides_at_once_is_one_end(mesh: Mesh, replica: Mesh) -> None:
    for number in range(20):
        noun_id, lease = await taken(mesh)
        ends = await asyncio.gather(
            *[one.fenced.finish(noun_id, lease.fence, result=number) for one in (mesh, replica, mesh, replica)]
        )
        assert {end.claim for end in ends} == {ends[0].claim}
        noun_id, lease = await taken(mesh)
        told = await asyncio.gather(
            *[one.fenced.fail(noun_id, lease.fence, reason="?") for one in (mesh, replica, mesh, replica)]
        )
        assert {one.worker for one in told} == {"w1"}


async def test_a_start_that_nobody_named_cannot_be_repeated(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    await mesh.fenced.start_effect(noun_id, lease.fence, key="book")
    for attempt in (None, "a1"):
        with pytest.raises(pausemesh.EffectUnknown):
            await mesh.fenced.start_effect(noun_id, lease.fence, key="book", attempt=attempt)


async def test_a_recorded_result_is_given_to_every_later_start(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    await mesh.fenced.start_effect(noun_id, lease.fence, key="book")
    for _ in range(2):
        effect = await mesh.fenced.record_outcome(noun_id, lease.fence, "book", completed=True, result={"ticket": 7})
        assert effect.result == {"ticket": 7}
    effect, is_repeat = await mesh.fenced.start_effect(noun_id, lease.fence, key="book", attempt="a2")
    assert (effect.status, effect.result, is_repeat) == ("completed", {"ticket": 7}, True)


async def test_what_surely_did_not_happen_has_no_result_and_may_be_started_again(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    await mesh.fenced.start_effect(noun_id, lease.fence, key="book", attempt="a1")
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.fenced.record_outcome(noun_id, lease.fence, "book", completed=False, result=1)
    assert (await mesh.fenced.record_outcome(noun_id, lease.fence, "book", completed=False)).status == "failed"
    effect, is_repeat = await mesh.fenced.start_effect(noun_id, lease.fence, key="book", attempt="a2")
    assert (effect.status, effect.attempts, is_repeat) == ("started", 2, False)


async def test_only_what_was_approved_is_admitted(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh, APPROVAL, {"approved": True})
    for kind, arguments in (("pay", {"flight": "AZ1"}), ("book", {"flight": "AZ2"}), ("book", None)):
        with pytest.raises(pausemesh.ActionMismatch):
            await mesh.fenced.start_effect(noun_id, lease.fence, key="e", kind=kind, arguments=arguments)
    effect, _ = await mesh.fenced.start_effect(noun_id, lease.fence, key="book", arguments={"flight": "AZ1"})
    assert effect.status == "started"
    with pytest.raises(pausemesh.ActionMismatch):
        await mesh.fenced.take(noun_id, worker="w2", lease=LEASE, action={"name": "pay", "arguments": {}})


async def test_who_may_go_on_is_asked_after_what_there_is(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    fenced = mesh.fenced
    for caller in (EYE, POST):
        for call in (
            fenced.take(noun_id, worker="w", lease=LEASE, by=caller),
            fenced.take_next("q", worker="w", lease=LEASE, timeout=0, by=caller),
            fenced.finish(noun_id, lease.fence, by=caller),
        ):
            with pytest.raises(pausemesh.Forbidden):
                await call
        with pytest.raises(pausemesh.ClaimNotFound):
            await fenced.finish("nothing", 1, by=caller)
        with pytest.raises(pausemesh.ContinuationNotFound):
            await fenced.take("nothing", worker="w", lease=LEASE, by=caller)
    with pytest.raises(pausemesh.NotFound):
        await fenced.finish(noun_id, lease.fence, by=STRANGER)
    assert (await fenced.finish(noun_id, lease.fence, by=BOT)).claim is not None


async def test_nothing_is_known_by_a_key_that_is_none(mesh: Mesh) -> None:
    noun_id, lease = await taken(mesh)
    with pytest.raises(pausemesh.ClaimNotFound):
        await mesh.fenced.record_outcome(noun_id, lease.fence, "a/b", completed=True)
