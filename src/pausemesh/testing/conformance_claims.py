"""What every store must do with claims: one holder at a time, under a lease, with a fence that grows."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from pausemesh.core.errors import InvalidRequest
from pausemesh.ports import EventStore
from pausemesh.records import Held, Lease, Reason
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    comparison,
    given,
    given_decided,
    head,
    loaded,
    reasons,
    taken,
    write,
)


@pytest.mark.anyio
class ClaimContract:
    """Taking by name."""

    async def test_a_taken_claim_is_leased_by_the_clock_of_the_store(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        lease = await store.take(SCOPE, "a", "ann", SECOND)
        until = clock.now() + SECOND
        assert lease == Lease(scope=SCOPE, stream="a", worker="ann", fence=1, until=until, attempts=1)
        claim = (await loaded(store, "a")).claim
        assert (claim.holder, claim.fence, claim.lease_until, claim.done_at, claim.attempts) == (
            "ann",
            1,
            until,
            None,
            1,
        )

    async def test_a_stream_that_is_absent_or_open_cannot_be_taken(self, store: EventStore) -> None:
        await given(store, write("open"))
        assert await store.take(SCOPE, "absent", "ann", SECOND) is None
        assert await store.take(SCOPE, "open", "ann", SECOND) is None

    async def test_while_a_lease_lives_everybody_is_told_until_when(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", "ann", SECOND)
        clock.advance(SECOND - SECOND / 1_000_000)
        held = Held(at=clock.now(), until=lease.until, fence=lease.fence)
        assert await store.take(SCOPE, "a", "bob", SECOND) == held
        assert await store.take(SCOPE, "a", "ann", SECOND) == held

    async def test_a_lapsed_lease_passes_on_with_the_next_fence(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a")
        old = await taken(store, "a", "ann", SECOND)
        clock.advance(SECOND)
        new = await taken(store, "a", "bob")
        assert (new.worker, new.fence, new.attempts) == ("bob", old.fence + 1, 2)
        assert await store.renew(old, SECOND) is None
        assert not await store.release(old)

    async def test_of_20_takers_one_wins(self, store: EventStore) -> None:
        await given_decided(store, "a")
        results = await asyncio.gather(*[store.take(SCOPE, "a", f"w{index}", SECOND) for index in range(20)])
        [lease] = [result for result in results if isinstance(result, Lease)]
        assert [result.fence for result in results if isinstance(result, Held)] == [lease.fence] * 19

    async def test_a_live_lease_is_renewed_from_now_on(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", lease=2 * SECOND)
        clock.advance(SECOND)
        renewed = await store.renew(lease, 2 * SECOND)
        assert renewed is not None
        assert (renewed.fence, renewed.attempts, renewed.worker) == (lease.fence, lease.attempts, lease.worker)
        assert renewed.until == clock.now() + 2 * SECOND
        clock.advance(SECOND)
        assert isinstance(await store.take(SCOPE, "a", "bob", SECOND), Held)

    async def test_a_lease_cannot_be_renewed_or_released_once_it_has_lapsed(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", lease=SECOND)
        clock.advance(SECOND)
        assert await store.renew(lease, SECOND) is None
        assert not await store.release(lease)
        claim = (await loaded(store, "a")).claim
        assert (claim.holder, claim.lease_until) == ("ann", lease.until)

    async def test_a_lease_given_back_is_free_at_once_and_the_fence_grows(self, store: EventStore) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", "ann")
        assert await store.release(lease)
        assert not await store.release(lease)
        assert await store.renew(lease, SECOND) is None
        claim = (await loaded(store, "a")).claim
        assert (claim.holder, claim.lease_until, claim.fence, claim.attempts) == (None, None, 1, 1)
        assert (await taken(store, "a", "bob")).fence == 2

    async def test_a_lease_of_a_stream_that_is_absent_is_lost(self, store: EventStore, clock: ManualClock) -> None:
        lease = Lease(scope=SCOPE, stream="absent", worker="ann", fence=1, until=clock.now() + SECOND, attempts=1)
        assert await store.renew(lease, SECOND) is None
        assert not await store.release(lease)

    async def test_finishing_ends_the_claim_and_keeps_who_held_it(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", "ann")
        clock.advance(SECOND)
        decided = head(status="resumed", open=False)
        await given(store, write("a", 1, head=decided, fence=lease.fence, finish=True))
        claim = (await loaded(store, "a")).claim
        assert (claim.holder, claim.fence, claim.lease_until, claim.done_at) == ("ann", 1, lease.until, clock.now())
        assert await store.take(SCOPE, "a", "bob", SECOND) is None
        assert await store.renew(lease, SECOND) is None
        assert not await store.release(lease)
        assert await reasons(store, write("a", 2, head=decided, fence=lease.fence)) == (Reason.FENCE,)

    async def test_a_claim_can_be_finished_with_an_event_of_another_stream(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a", queue="q")
        lease = await taken(store, "a")
        before = await loaded(store, "a")
        clock.advance(SECOND)
        call = (write("result"), comparison("a", 1, fence=lease.fence, finish=True, history=True))
        result = await given(store, *call)
        after = await loaded(store, "a")
        assert after.claim == dataclasses.replace(before.claim, done_at=clock.now())
        assert (after.head, after.version, after.updated_at) == (before.head, before.version, before.updated_at)
        assert result.streams == (None, after)
        assert (await given(store, *call)).replayed
        assert await store.take_next(SCOPE, "q", "bob", SECOND) is None

    async def test_a_claim_is_not_finished_where_its_sibling_is_refused(self, store: EventStore) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a")
        finish = comparison("a", 1, fence=lease.fence, finish=True)
        assert await reasons(store, finish, write("result", 1)) == (Reason.SIBLING, Reason.VERSION)
        assert (await loaded(store, "a")).claim.done_at is None

    async def test_a_lapsed_lease_cannot_finish(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", lease=SECOND)
        clock.advance(SECOND)
        finish = write("a", 1, head=head(open=False), fence=lease.fence, finish=True)
        assert await reasons(store, finish) == (Reason.FENCE,)
        assert (await loaded(store, "a")).claim.done_at is None

    async def test_an_event_leaves_the_claim_as_it_is(self, store: EventStore) -> None:
        await given_decided(store, "a")
        await taken(store, "a")
        before = (await loaded(store, "a")).claim
        await given(store, write("a", 1, head=head(status="resumed", open=False)))
        assert (await loaded(store, "a")).claim == before

    async def test_a_claim_leaves_version_and_times_of_its_stream_as_they_are(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        before = await loaded(store, "a")
        clock.advance(SECOND)
        await taken(store, "a")
        after = await loaded(store, "a")
        assert (after.version, after.updated_at, after.events) == (before.version, before.updated_at, before.events)

    async def test_a_lease_has_a_worker_and_a_positive_length(self, store: EventStore) -> None:
        await given_decided(store, "a", queue="q")
        for worker, lease in [("", SECOND), ("\0", SECOND), ("ann", 0 * SECOND), ("ann", -SECOND)]:
            with pytest.raises(InvalidRequest):
                await store.take(SCOPE, "a", worker, lease)
            with pytest.raises(InvalidRequest):
                await store.take_next(SCOPE, "q", worker, lease)
        with pytest.raises(InvalidRequest):
            await store.renew(await taken(store, "a"), 0 * SECOND)


@pytest.mark.anyio
class QueueContract:
    """Taking whatever has been ready longest."""

    async def test_a_queue_hands_out_what_has_been_ready_longest(self, store: EventStore, clock: ManualClock) -> None:
        for name in "cab":
            await given(store, write(name, head=head(queue="q")))
        for name in "bca":
            clock.advance(SECOND)
            await given(store, write(name, 1, head=head(queue="q", open=False)))
        assert [await _next(store) for _ in range(4)] == ["b", "c", "a", None]

    async def test_streams_that_got_ready_at_once_are_ordered_by_name(self, store: EventStore) -> None:
        for name in "cab":
            await given_decided(store, name, queue="q")
        assert [await _next(store) for _ in range(3)] == ["a", "b", "c"]

    async def test_only_ready_streams_of_this_queue_and_scope_are_handed_out(self, store: EventStore) -> None:
        await given_decided(store, "other", queue="other")
        await given_decided(store, "none")
        await given(store, write("open", head=head(queue="q")))
        await given(store, write("far", scope="elsewhere", head=head(queue="q", open=False)))
        assert await _next(store) is None

    async def test_what_is_held_is_skipped_until_its_lease_lapses(self, store: EventStore, clock: ManualClock) -> None:
        for name in "ab":
            await given_decided(store, name, queue="q")
            clock.advance(SECOND)
        await taken(store, "a", lease=5 * SECOND)
        assert await _next(store) == "b"
        assert await _next(store) is None
        clock.advance(5 * SECOND)
        again = await store.take_next(SCOPE, "q", "bob", SECOND)
        assert again is not None
        assert (again.stream, again.worker, again.fence, again.attempts) == ("a", "bob", 2, 2)

    async def test_what_is_done_is_never_handed_out_again(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a", queue="q")
        lease = await store.take_next(SCOPE, "q", "ann", SECOND)
        assert lease is not None
        done = head(status="resumed", open=False, queue="q")
        await given(store, write("a", 1, head=done, fence=lease.fence, finish=True))
        clock.advance(2 * SECOND)
        assert await _next(store) is None

    async def test_a_shielded_take_comes_to_its_end_and_can_be_given_back_though_its_caller_was_cancelled(
        self, store: EventStore
    ) -> None:
        await given_decided(store, "a", queue="q")
        takes: list[Callable[[], Coroutine[Any, Any, Lease | Held | None]]] = [
            lambda: store.take(SCOPE, "a", "ann", SECOND),
            lambda: store.take_next(SCOPE, "q", "ann", SECOND),
        ]
        for steps in (1, 2, 3):
            for take in takes:
                taking = asyncio.ensure_future(take())
                caller = asyncio.ensure_future(_shielded(taking))
                for _ in range(steps):
                    await asyncio.sleep(0)
                caller.cancel()
                await asyncio.gather(caller, return_exceptions=True)
                lease = await taking
                assert isinstance(lease, Lease)
                assert await store.release(lease)
        assert (await loaded(store, "a")).claim.holder is None

    async def test_20_workers_get_20_streams_and_none_twice(self, store: EventStore) -> None:
        for index in range(20):
            await given_decided(store, f"s{index}", queue="q")
        leases = await asyncio.gather(*[store.take_next(SCOPE, "q", f"w{index}", SECOND) for index in range(30)])
        assert len({lease.stream for lease in leases if lease is not None}) == 20
        assert leases.count(None) == 10


async def _next(store: EventStore) -> str | None:
    lease = await store.take_next(SCOPE, "q", "ann", 3 * SECOND)
    return None if lease is None else lease.stream


async def _shielded(call: Awaitable[object]) -> object:
    return await asyncio.shield(call)
