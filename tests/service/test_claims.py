"""Who goes on with a decision: one holder at a time, under fences that grow, and done once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import pausemesh
from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore
from pausemesh.service.claims import Claims
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA

LEASE = timedelta(seconds=60)


async def answered(mesh: Mesh, payload: JsonValue = "?", answer: JsonValue = 1, **more: object) -> str:
    created = await mesh.create(payload=payload, **more)  # type: ignore[arg-type]
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=answer)
    return created.continuation.id


async def test_a_claim_is_held_by_one_and_done_at_the_blocks_clean_end(mesh: Mesh, replica: Mesh) -> None:
    noun_id = await answered(mesh, answer={"flight": "AZ1"})
    async with mesh.claim(noun_id, worker="w1", lease=LEASE) as turn:
        assert (turn.fence, turn.worker, turn.answer) == (1, "w1", {"flight": "AZ1"})
        with pytest.raises(pausemesh.ClaimHeld) as refusal:
            async with replica.claim(noun_id):
                pass
        assert refusal.value.fence == 1
        seen = (await replica.inspect(noun_id)).claim
        assert seen is not None
        assert (seen.status, seen.worker, seen.fence) == ("held", "w1", 1)
    seen = (await replica.inspect(noun_id)).claim
    assert seen is not None
    assert (seen.status, seen.worker) == ("done", "w1")
    assert seen.done_at is not None


async def test_a_done_claim_tells_its_result_for_ever(mesh: Mesh, replica: Mesh, clock: ManualClock) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        await turn.done({"ticket": 7})
    clock.advance(timedelta(days=400))
    with pytest.raises(pausemesh.ClaimDone) as refusal:
        async with replica.claim(noun_id):
            pass
    assert refusal.value.result == {"ticket": 7}
    assert refusal.value.recorded is not None


async def test_done_said_twice_changes_nothing_and_with_another_result_is_refused(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        await turn.done(1)
        await turn.done(1)
        with pytest.raises(pausemesh.ClaimDone):
            await turn.done(2)


async def test_an_exception_gives_the_claim_back_at_once(mesh: Mesh, replica: Mesh) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(RuntimeError, match="boom"):
        async with mesh.claim(noun_id):
            raise RuntimeError("boom")
    async with replica.claim(noun_id) as turn:
        assert turn.fence == 2


async def test_a_released_claim_can_be_taken_by_the_next(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        await turn.release()
        with pytest.raises(pausemesh.LeaseLost):
            await turn.effect("late", run=lambda: pytest.fail("a turn that is over made something happen"))
    seen = (await mesh.inspect(noun_id)).claim
    assert seen is not None
    assert (seen.status, seen.fence) == ("open", 1)
    async with mesh.claim(noun_id) as turn:
        assert turn.fence == 2


async def test_a_lapsed_lease_passes_on_and_its_old_holder_can_record_nothing(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    noun_id = await answered(mesh)
    calls: list[int] = []
    with pytest.raises(pausemesh.LeaseLost):
        async with mesh.claim(noun_id, lease=LEASE) as stale:
            await stale.effect("slow", run=lambda: calls.append(1))
            clock.advance(LEASE)
            assert (await replica.inspect(noun_id)).claim.status == "lapsed"  # type: ignore[union-attr]
            with pytest.raises(pausemesh.LeaseLost):
                await stale.effect("more", run=lambda: calls.append(2))
            async with replica.claim(noun_id, lease=LEASE) as fresh:
                assert fresh.fence == 2
                for attempt in (
                    stale.done("mine"),
                    stale.effect("more", run=lambda: calls.append(3)),
                ):
                    with pytest.raises(pausemesh.LeaseLost):
                        await attempt
                await fresh.done("theirs")
    assert calls == [1]
    with pytest.raises(pausemesh.ClaimDone) as refusal:
        async with mesh.claim(noun_id):
            pass
    assert refusal.value.result == "theirs"


async def test_a_lapsed_holder_records_nothing_even_where_nobody_else_came(mesh: Mesh, clock: ManualClock) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(pausemesh.LeaseLost):
        async with mesh.claim(noun_id, lease=LEASE):
            clock.advance(LEASE)
    seen = (await mesh.inspect(noun_id)).claim
    assert seen is not None
    assert seen.status == "lapsed"


async def test_of_many_takers_one_holds(mesh: Mesh, replica: Mesh) -> None:
    noun_id = await answered(mesh)
    gate = asyncio.Event()

    async def take(which: Mesh) -> int:
        async with which.claim(noun_id) as turn:
            await gate.wait()
            return turn.fence

    tasks = [asyncio.create_task(take((mesh, replica)[n % 2])) for n in range(20)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    while len(pending) > 1:
        more, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    gate.set()
    assert {type(task.exception()) for task in done} == {pausemesh.ClaimHeld}
    assert [await task for task in pending] == [1]


async def test_only_an_answered_question_can_be_claimed(mesh: Mesh, clock: ManualClock) -> None:
    pending = (await mesh.create(payload="?")).continuation.id
    cancelled = (await mesh.create(payload="?")).continuation.id
    await mesh.cancel(cancelled)
    expired = (await mesh.create(payload="?", expires_in=timedelta(seconds=1))).continuation.id
    clock.advance(timedelta(seconds=1))
    for noun_id in (pending, cancelled, expired):
        with pytest.raises(pausemesh.InvalidTransition):
            async with mesh.claim(noun_id):
                pass
    with pytest.raises(pausemesh.ContinuationNotFound):
        async with mesh.claim("q_none"):
            pass


@pytest.mark.parametrize("lease", [timedelta(0), timedelta(milliseconds=999), timedelta(days=1, seconds=1), 60, None])
async def test_a_lease_is_one_second_to_one_day(mesh: Mesh, lease: object) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(pausemesh.InvalidRequest):
        async with mesh.claim(noun_id, lease=lease):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize("worker", ["", "x" * 201, "a\x00", 5])
async def test_a_workers_name_is_text(mesh: Mesh, worker: object) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(pausemesh.InvalidRequest):
        async with mesh.claim(noun_id, worker=worker):  # type: ignore[arg-type]
            pass


async def test_a_generated_workers_name_is_unique(mesh: Mesh) -> None:
    names = set()
    for _ in range(2):
        async with mesh.claim(await answered(mesh)) as turn:
            names.add(turn.worker)
    assert len(names) == 2


@pytest.mark.parametrize("turns", range(12))
async def test_a_claim_that_arrives_after_its_caller_has_gone_is_given_back(
    mesh: Mesh, replica: Mesh, turns: int
) -> None:
    noun_id = await answered(mesh, queue="q")
    for entering in (mesh.claim(noun_id), mesh.claim_next("q")):
        task = asyncio.create_task(entering.__aenter__())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        if not (await asyncio.wait({task}))[0].pop().cancelled():
            await entering.__aexit__(RuntimeError, RuntimeError(), None)
        while (await replica.inspect(noun_id)).claim.status != "open":  # type: ignore[union-attr]
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("entering", ["claim", "claim_next"])
async def test_a_claim_still_on_its_way_when_the_mesh_closes_is_given_back(
    store: EventStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, entering: str
) -> None:
    async with pausemesh.open(store, clock=clock) as mesh:
        noun_id = await answered(mesh, queue="q")
        take, asked = getattr(store, "take" if entering == "claim" else "take_next"), asyncio.Event()

        async def slow(*arguments: Any) -> Any:
            asked.set()
            await asyncio.sleep(0.02)
            return await take(*arguments)

        monkeypatch.setattr(type(store), take.__name__, lambda _store, *arguments: slow(*arguments))
        block = mesh.claim(noun_id) if entering == "claim" else mesh.claim_next("q")
        late = asyncio.create_task(block.__aenter__())
        await asked.wait()
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
    async with pausemesh.open(store, clock=clock) as mesh:
        seen = (await mesh.inspect(noun_id)).claim
        assert seen is not None
        assert (seen.status, seen.fence) == ("open", 1)


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("again", [False, True])
async def test_a_block_that_is_cancelled_while_it_ends_is_done_or_given_back(
    mesh: Mesh, replica: Mesh, turns: int, *, again: bool
) -> None:
    noun_id = await answered(mesh)

    async def work() -> None:
        async with mesh.claim(noun_id):
            ending.set()

    ending = asyncio.Event()
    worker = asyncio.create_task(work())
    await ending.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    worker.cancel()
    if again:
        await asyncio.sleep(0)
        worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    while (seen := (await replica.inspect(noun_id)).claim) is not None and seen.status == "held":
        await asyncio.sleep(0.001)
    assert seen is not None
    assert seen.status in {"open", "done"}


async def test_a_clean_end_that_cannot_be_recorded_gives_the_claim_back(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)

    async def away(*_: Any) -> Any:
        raise pausemesh.StoreUnavailable

    monkeypatch.setattr(Claims, "finish", away)
    with pytest.raises(pausemesh.StoreUnavailable):
        async with mesh.claim(noun_id):
            pass
    assert (await mesh.inspect(noun_id)).claim.status == "open"  # type: ignore[union-attr]


async def test_nothing_is_given_back_where_a_late_reply_brings_no_claim(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)
    asked, go_on, take = asyncio.Event(), asyncio.Event(), store.take

    async def slow(*arguments: Any) -> Any:
        asked.set()
        await go_on.wait()
        return await take(*arguments)

    async with mesh.claim(noun_id, worker="first"):
        with monkeypatch.context() as slowly:
            slowly.setattr(type(store), "take", lambda _store, *arguments: slow(*arguments))
            late = asyncio.create_task(mesh.claim(noun_id).__aenter__())
            await asked.wait()
            late.cancel()
            with pytest.raises(asyncio.CancelledError):
                await late
            go_on.set()
            await asyncio.sleep(0.02)
        seen = (await mesh.inspect(noun_id)).claim
        assert seen is not None
        assert (seen.status, seen.worker) == ("held", "first")


async def test_a_claim_whose_question_cannot_be_read_is_given_back(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh, queue="q")
    load, away = store.load, [True]

    async def flaky(*arguments: Any) -> Any:
        if away:
            away.pop()
            raise pausemesh.StoreUnavailable
        return await load(*arguments)

    monkeypatch.setattr(type(store), "load", lambda _store, *arguments: flaky(*arguments))
    with pytest.raises(pausemesh.StoreUnavailable):
        await mesh.claim_next("q").__aenter__()
    await mesh.close()
    assert (await mesh.inspect(noun_id)).claim.status == "open"  # type: ignore[union-attr]


async def test_a_claim_whose_reply_was_lost_is_found_by_the_name_that_only_its_caller_knows(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = store.take

    async def lost(*arguments: Any) -> Any:
        await take(*arguments)
        raise pausemesh.OutcomeUnknown

    monkeypatch.setattr(type(store), "take", lambda _store, *arguments: lost(*arguments))
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        assert turn.fence == 1
    named = await answered(mesh)
    with pytest.raises(pausemesh.OutcomeUnknown):
        await mesh.claim(named, worker="shared").__aenter__()


async def test_a_claim_whose_outcome_is_unknown_and_was_not_taken_stays_unknown(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: Any) -> Any:
        raise pausemesh.OutcomeUnknown

    noun_id = await answered(mesh)
    monkeypatch.setattr(type(store), "take", lost)
    with pytest.raises(pausemesh.OutcomeUnknown):
        await mesh.claim(noun_id).__aenter__()


async def test_a_claim_that_is_given_back_to_a_store_that_is_away_lapses(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> Any:
        raise pausemesh.StoreUnavailable

    noun_id = await answered(mesh, queue="q")
    monkeypatch.setattr(type(store), "release", away)
    with monkeypatch.context() as reading:
        reading.setattr(type(store), "load", away)
        with pytest.raises(pausemesh.StoreUnavailable):
            await mesh.claim_next("q").__aenter__()
    await mesh.close()
    assert (await mesh.inspect(noun_id)).claim.status == "held"  # type: ignore[union-attr]


async def test_a_claim_that_names_another_action_is_refused(mesh: Mesh) -> None:
    payload: JsonValue = {"kind": "approval", "action": {"name": "book", "arguments": {"flight": "AZ1"}}}
    noun_id = await answered(mesh, payload, {"approved": True})
    for action in ({"name": "book", "arguments": {"flight": "AZ2"}}, {"name": "book"}, {"name": "cancel"}):
        with pytest.raises(pausemesh.ActionMismatch):
            async with mesh.claim(noun_id, action=action):  # type: ignore[arg-type]
                pass
    no_actions: tuple[Any, ...] = (
        {"arguments": {}},
        {"name": "book", "typo": {}},
        {"name": "book", "arguments": None},
        5,
        [1],
        "book",
    )
    for no_action in no_actions:
        with pytest.raises(pausemesh.InvalidRequest):
            async with mesh.claim(noun_id, action=no_action):
                pass
    async with mesh.claim(noun_id, action={"name": "book", "arguments": {"flight": "AZ1"}}) as turn:
        assert turn.fence == 1


async def test_the_lease_is_renewed_while_the_block_runs(mesh: Mesh, replica: Mesh, clock: ManualClock) -> None:
    noun_id = await answered(mesh)
    lease = timedelta(seconds=1)
    async with mesh.claim(noun_id, lease=lease):
        first = (await replica.inspect(noun_id)).claim
        clock.advance(lease / 2)
        while (await replica.inspect(noun_id)).claim == first:
            await asyncio.sleep(0.01)
        clock.advance(lease / 2)
        with pytest.raises(pausemesh.ClaimHeld):
            async with replica.claim(noun_id):
                pass


async def test_a_renewal_that_finds_the_lease_lost_stops_and_the_end_of_the_block_says_so(
    mesh: Mesh, clock: ManualClock
) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(pausemesh.LeaseLost):
        async with mesh.claim(noun_id, lease=timedelta(seconds=1)) as turn:
            clock.advance(timedelta(seconds=1))
            assert turn._renewal is not None  # noqa: SLF001 - its end is what is waited for
            await turn._renewal  # noqa: SLF001


async def test_a_renewal_goes_on_trying_while_the_store_is_away(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)
    renew, failures, renewed = store.renew, 2, asyncio.Event()

    async def flaky(*arguments: object) -> object:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise pausemesh.StoreUnavailable
        renewed.set()
        return await renew(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store), "renew", lambda _store, *arguments: flaky(*arguments))
    async with mesh.claim(noun_id, lease=timedelta(seconds=1)):
        await renewed.wait()


async def test_a_release_that_the_store_cannot_take_does_not_hide_the_first_error(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)

    async def away(*_: object) -> bool:
        raise pausemesh.StoreUnavailable

    monkeypatch.setattr(type(store), "release", away)
    with pytest.raises(RuntimeError, match="boom"):
        async with mesh.claim(noun_id):
            raise RuntimeError("boom")


async def test_a_queue_gives_the_decision_that_has_been_ready_longest(mesh: Mesh, clock: ManualClock) -> None:
    first = (await mesh.create(payload="?", queue="bookings")).continuation.id
    clock.advance(timedelta(seconds=1))
    second = await answered(mesh, queue="bookings")
    await answered(mesh, queue="other")
    clock.advance(timedelta(seconds=1))
    await mesh.answer(first, by=ANA, idempotency_key="k", payload=1)
    taken = []
    for _ in range(2):
        async with mesh.claim_next("bookings", timeout=0) as turn:
            taken.append(turn.continuation.id)
    assert taken == [second, first]
    with pytest.raises(pausemesh.WaitTimeout):
        async with mesh.claim_next("bookings", timeout=0):
            pass


async def test_a_queue_never_gives_what_was_cancelled_or_expired(mesh: Mesh, clock: ManualClock) -> None:
    cancelled = await mesh.create(payload="?", queue="q")
    await mesh.create(payload="?", queue="q", expires_in=timedelta(seconds=1))
    await mesh.cancel(cancelled.continuation.id)
    clock.advance(timedelta(seconds=1))
    await mesh.sweep()
    with pytest.raises(pausemesh.WaitTimeout):
        async with mesh.claim_next("q", timeout=0.0):
            pass


async def test_a_waiting_worker_picks_up_a_decision_when_it_comes(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?", queue="bookings")

    async def work() -> str:
        async with replica.claim_next("bookings") as turn:
            return turn.continuation.id

    worker = asyncio.create_task(work())
    await asyncio.sleep(0.05)
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    assert await worker == created.continuation.id


async def test_a_bad_queue_is_refused(mesh: Mesh) -> None:
    for queue in ("", "a/b", 5):
        with pytest.raises(pausemesh.InvalidRequest):
            async with mesh.claim_next(queue):  # type: ignore[arg-type]
                pass


async def test_a_store_that_gives_no_claim_and_no_reason_is_reported(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)

    async def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(type(store), "take", nothing)
    with pytest.raises(pausemesh.StoreUnavailable):
        async with mesh.claim(noun_id):
            pass
