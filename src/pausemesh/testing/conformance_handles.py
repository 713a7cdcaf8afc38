"""What stores must do that several may open at once, or that survive their process."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from pausemesh.ports import EventStore
from pausemesh.records import Appended, Held, Lease, Reason, Write
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    TOKEN,
    audit_row,
    given,
    given_decided,
    head,
    loaded,
    reasons,
    refused,
    taken,
    write,
)
from pausemesh.testing.conformance_lists import WAIT_SECONDS, listen


@pytest.mark.anyio
class SharedStoreContract:
    """Two handles on the same streams."""

    async def test_what_one_wrote_the_other_reads_at_once(self, store: EventStore, second_store: EventStore) -> None:
        for index in range(20):
            result = await given(store, write(f"s{index}", rows=(audit_row(),)))
            assert await loaded(second_store, f"s{index}") == await loaded(store, f"s{index}")
            assert await second_store.last_seq() == result.last_seq

    async def test_of_two_appends_at_one_version_one_wins(self, store: EventStore, second_store: EventStore) -> None:
        for index in range(20):
            calls = [write(f"s{index}", rows=(audit_row(),)) for _ in range(2)]
            results = await asyncio.gather(store.append(calls[0]), second_store.append(calls[1]))
            [won] = [call for call, result in zip(calls, results, strict=True) if isinstance(result, Appended)]
            assert (await loaded(store, f"s{index}")).events[0].id == won.events[0].id
        assert len(await store.list_audit(SCOPE)) == 20

    async def test_the_other_is_told_what_is_stored(self, store: EventStore, second_store: EventStore) -> None:
        await given(store, write("a"))
        result = await refused(second_store, write("a", history=True))
        assert (result.reasons, result.actual) == ((Reason.VERSION,), (1,))
        assert result.streams == (await loaded(store, "a"),)

    async def test_a_call_sent_to_both_is_committed_once(self, store: EventStore, second_store: EventStore) -> None:
        call = (write("a", rows=(audit_row(),)), write("b"))
        results = await asyncio.gather(store.append(*call), second_store.append(*call))
        assert sorted(isinstance(result, Appended) and result.replayed for result in results) == [False, True]
        assert len({result.at for result in results}) == 1
        assert len(await store.feed(0)) == 2

    async def test_of_takers_at_both_one_wins(self, store: EventStore, second_store: EventStore) -> None:
        await given_decided(store, "a")
        results = await asyncio.gather(
            *[handle.take(SCOPE, "a", f"w{index}", SECOND) for index in range(10) for handle in (store, second_store)]
        )
        assert sorted(type(result).__name__ for result in results) == [*["Held"] * 19, "Lease"]

    async def test_a_lease_taken_at_one_is_held_and_renewed_at_the_other(
        self, store: EventStore, second_store: EventStore
    ) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a")
        assert isinstance(await second_store.take(SCOPE, "a", "bob", SECOND), Held)
        assert isinstance(await second_store.renew(lease, SECOND), Lease)
        assert await second_store.release(lease)
        assert not await store.release(lease)

    async def test_a_beat_at_one_breaks_the_silence_at_the_other(
        self, store: EventStore, second_store: EventStore, clock: ManualClock
    ) -> None:
        await given(store, write("a"))
        clock.advance(SECOND)
        await second_store.beat(SCOPE, ["a"])
        assert await reasons(store, write("a", 1, silent_since=clock.now())) == (Reason.NOT_SILENT,)

    async def test_a_listener_at_one_is_told_of_commits_at_the_other(
        self, store: EventStore, second_store: EventStore
    ) -> None:
        async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
            assert await anext(wakeups) == 0
            for index in range(3):
                result = await given(second_store, write(f"s{index}"))
                assert await anext(wakeups) == result.last_seq

    async def test_a_reader_at_one_misses_nothing_of_writers_at_both(
        self, store: EventStore, second_store: EventStore
    ) -> None:
        dice = random.Random(3)
        writers = [
            asyncio.ensure_future(handle.append(*_some_writes(dice)))
            for _ in range(100)
            for handle in (store, second_store)
        ]
        seen, seq, is_over = [], 0, False
        while not is_over:
            is_over = all(writer.done() for writer in writers)
            for one in await store.feed(seq, limit=7):
                seen.append(one)
                seq, is_over = one.seq, False
            await asyncio.sleep(0)
        results = await asyncio.gather(*writers)
        assert seen == list(await second_store.feed(0))
        assert {result.last_seq for result in results if isinstance(result, Appended)} <= {one.seq for one in seen}

    async def test_closing_one_leaves_the_other_open(self, store: EventStore, second_store: EventStore) -> None:
        await given(second_store, write("a"))
        await second_store.close()
        await given(store, write("a", 1))
        assert (await loaded(store, "a")).version == 2


@pytest.mark.anyio
class DurableStoreContract:
    """One handle after another on the same streams."""

    async def test_everything_is_there_after_closing_and_opening_again(
        self, store: EventStore, reopen: Callable[[], Awaitable[EventStore]], clock: ManualClock
    ) -> None:
        full = head(status="resumed", open=False, owner="o", trace="t", queue="q", token_hash=TOKEN)
        await given(store, write("a", head=full, rows=(audit_row(),)), write("b", head=head(due_at=clock.now())))
        lease = await taken(store, "a")
        before = (await loaded(store, "a"), await store.list_audit(SCOPE), await store.feed(0), await store.list_due())
        again = await reopen()
        after = (await loaded(again, "a"), await again.list_audit(SCOPE), await again.feed(0), await again.list_due())
        assert after == before
        assert await again.release(lease)

    async def test_a_call_is_recognised_after_opening_again(
        self, store: EventStore, reopen: Callable[[], Awaitable[EventStore]]
    ) -> None:
        call = write("a")
        first = await given(store, call)
        again = await given(await reopen(), call)
        assert (again.replayed, again.at, again.last_seq) == (True, first.at, first.last_seq)

    async def test_a_seq_is_never_given_twice(
        self, store: EventStore, reopen: Callable[[], Awaitable[EventStore]]
    ) -> None:
        first = await given(store, write("a"))
        again = await reopen()
        assert await again.last_seq() == first.last_seq
        assert (await given(again, write("b"))).last_seq > first.last_seq

    async def test_calls_under_way_while_closing_are_finished(
        self, store: EventStore, reopen: Callable[[], Awaitable[EventStore]]
    ) -> None:
        tasks = [asyncio.ensure_future(store.append(write(f"s{index}"))) for index in range(50)]
        await asyncio.sleep(0)
        again = await reopen()
        results = await asyncio.gather(*tasks)
        assert all(isinstance(result, Appended) for result in results)
        assert len(await again.feed(0)) == 50


def _some_writes(dice: random.Random) -> list[Write]:
    return [write(f"s{number}") for number in dice.sample(range(60), dice.randint(1, 3))]
