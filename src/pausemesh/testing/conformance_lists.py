"""What every store must find: lists whose cursors miss nothing, the due, the audit log, the feed, and its wake-ups."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final
from uuid import UUID

import pytest

from pausemesh.core.errors import InvalidRequest, StoreClosed
from pausemesh.ports import EventStore
from pausemesh.records import Stream
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    audit_row,
    comparison,
    event,
    given,
    given_decided,
    head,
    refused,
    taken,
    write,
)

WAIT_SECONDS: Final = 10
"""How long a wake-up may take before the test gives up on it."""


@pytest.mark.anyio
class ListContract:
    """Lists of streams."""

    async def test_streams_of_a_correlation_are_listed_by_name(self, store: EventStore) -> None:
        for name in ["c", "a", "B", "é", "b"]:
            await given(store, write(name))
        await given(store, write("other", head=head(correlation="trip-43")), write("far", scope="elsewhere"))
        assert _names(await store.list_by_correlation(SCOPE, "trip-42")) == ["B", "a", "b", "c", "é"]
        assert await store.list_by_correlation("elsewhere", "trip-43") == []

    async def test_a_list_by_correlation_goes_on_where_a_page_ended(self, store: EventStore) -> None:
        for index in range(7):
            await given(store, write(f"s{index}"))
        pages, after = [], ""
        while page := await store.list_by_correlation(SCOPE, "trip-42", after, limit=3):
            pages.append(_names(page))
            after = page[-1].stream
        assert pages == [["s0", "s1", "s2"], ["s3", "s4", "s5"], ["s6"]]

    async def test_a_listed_stream_has_everything_but_its_events(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a", head=head(status="resumed", open=False, due_at=clock.now() + SECOND)))
        await taken(store, "a")
        whole = await store.load(SCOPE, "a")
        [listed] = await store.list_by_correlation(SCOPE, "trip-42")
        assert whole is not None
        assert (listed.version, listed.head, listed.claim, listed.created_at, listed.updated_at, listed.events) == (
            whole.version,
            whole.head,
            whole.claim,
            whole.created_at,
            whole.updated_at,
            (),
        )

    async def test_open_streams_of_a_status_are_listed_by_their_age(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        for name in "cab":
            await given(store, write(name), write(f"{name}{name}"))
            clock.advance(SECOND)
        await given(store, write("other_kind", head=head(kind="other")))
        await given(store, write("other_status", head=head(status="waiting")))
        await given(store, write("far", scope="elsewhere"))
        await given(store, write("b", 1, head=head(open=False)))
        assert _names(await store.list_by_status(SCOPE, "thing", "pending")) == ["c", "cc", "a", "aa", "bb"]
        assert _names(await store.list_by_status(SCOPE, "thing", "waiting")) == ["other_status"]

    async def test_a_list_by_status_goes_on_where_a_page_ended_though_streams_left_it(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        for index in range(6):
            await given(store, write(f"s{index}"))
            clock.advance((index % 2) * SECOND)
        first = await store.list_by_status(SCOPE, "thing", "pending", limit=3)
        await given(store, *[write(name, 1, head=head(open=False)) for name in ["s1", "s2", "s4"]])
        await given(store, write("new"))
        after = (first[-1].created_at, first[-1].stream)
        rest = await store.list_by_status(SCOPE, "thing", "pending", after)
        assert (_names(first), _names(rest)) == (["s0", "s1", "s2"], ["s3", "s5", "new"])

    async def test_a_stream_that_opens_again_is_listed_where_it_was(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        clock.advance(SECOND)
        await given(store, write("b"))
        await given(store, write("a", 1))
        assert _names(await store.list_by_status(SCOPE, "thing", "pending")) == ["a", "b"]

    async def test_what_is_due_is_listed_over_all_scopes_and_the_longest_overdue_first(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        now = clock.now()
        for name, seconds in [("c", 2), ("a", 1), ("later", 9), ("b", 2)]:
            await given(store, write(name, head=head(due_at=now + seconds * SECOND)))
        await given(store, write("d", scope="elsewhere", head=head(due_at=now + 3 * SECOND)), write("never"))
        clock.advance(2 * SECOND)
        assert _names(await store.list_due()) == ["a", "b", "c"]
        clock.advance(SECOND)
        assert _names(await store.list_due()) == ["a", "b", "c", "d"]
        assert _names(await store.list_due(limit=1)) == ["a"]

    async def test_what_was_settled_is_not_due_any_more(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a", head=head(due_at=clock.now())))
        assert _names(await store.list_due()) == ["a"]
        await given(store, write("a", 1, head=head(open=False)))
        assert await store.list_due() == []

    async def test_a_limit_is_a_positive_integer(self, store: EventStore) -> None:
        for limit in (0, -1, 2**63):
            for listing in (
                store.list_by_correlation(SCOPE, "c", limit=limit),
                store.list_by_status(SCOPE, "thing", "pending", limit=limit),
                store.list_due(limit),
                store.list_audit(SCOPE, limit=limit),
                store.feed(0, limit=limit),
                store.feed_of_correlation(SCOPE, "c", 0, limit=limit),
                store.list_names(limit=limit),
            ):
                with pytest.raises(InvalidRequest):
                    await listing


@pytest.mark.anyio
class AuditContract:
    """The audit log."""

    async def test_audit_rows_are_stored_with_the_time_of_their_write(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        rows = (audit_row(note="why"), audit_row(digest=None))
        await given(store, write("a", rows=rows), write("b", scope="elsewhere", rows=(audit_row(),)))
        stored = await store.list_audit(SCOPE)
        assert {one.row for one in stored} == set(rows)
        assert {(one.scope, one.at) for one in stored} == {(SCOPE, clock.now())}
        assert len(await store.list_audit("elsewhere")) == 1

    async def test_the_audit_log_is_ordered_by_time_and_id_and_goes_on_where_a_page_ended(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        ids = [UUID(int=number) for number in (7, 2**127, 3, 2**64, 5)]
        await given(store, write("a", rows=tuple(audit_row(id=one) for one in ids[:3])))
        clock.advance(SECOND)
        await given(store, write("a", 1, rows=tuple(audit_row(id=one) for one in ids[3:])))
        first = await store.list_audit(SCOPE, limit=2)
        rest = await store.list_audit(SCOPE, (first[-1].at, first[-1].row.id))
        assert [one.row.id.int for one in (*first, *rest)] == [3, 7, 2**127, 5, 2**64]

    async def test_there_are_audit_rows_exactly_for_winners(self, store: EventStore) -> None:
        calls = [write("a", rows=(audit_row(),)) for _ in range(50)]
        await asyncio.gather(*[store.append(call) for call in calls])
        [winner] = await store.feed(0)
        [row] = await store.list_audit(SCOPE)
        assert [call.rows[0] for call in calls if call.events[0].id == winner.id] == [row.row]

    async def test_an_audit_row_is_never_replaced(self, store: EventStore) -> None:
        row = audit_row()
        await given(store, write("a", rows=(row,)))
        with pytest.raises(InvalidRequest):
            await store.append(write("b"), write("c", rows=(audit_row(id=row.id, note="other"),)))
        assert [one.row for one in await store.list_audit(SCOPE)] == [row]
        assert await store.load_many([(SCOPE, "b"), (SCOPE, "c")]) == [None, None]


@pytest.mark.anyio
class FeedContract:
    """The log in commit order, and who is told that it grew."""

    async def test_the_feed_has_all_events_in_the_order_of_their_commits(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        creation = write("b", events=(event(), event()))
        await given(store, creation)
        clock.advance(SECOND)
        await given(store, write("a"), write("b", 2))
        log = await store.feed(0)
        assert [(one.stream, one.version) for one in log] == [("b", 1), ("b", 2), ("a", 1), ("b", 3)]
        assert [one.seq for one in log] == sorted({one.seq for one in log})
        stream = await store.load(SCOPE, "b")
        assert stream is not None
        assert tuple(one for one in log if one.stream == "b") == stream.events

    async def test_the_feed_goes_on_after_any_seq(self, store: EventStore) -> None:
        for index in range(5):
            await given(store, write(f"s{index}"))
        log = list(await store.feed(0))
        assert list(await store.feed(0, limit=2)) == log[:2]
        assert list(await store.feed(log[1].seq, limit=2)) == log[2:4]
        assert await store.feed(log[-1].seq) == []
        assert list(await store.feed(-5)) == log

    async def test_the_feed_of_a_scope_has_the_events_of_that_scope(self, store: EventStore) -> None:
        await given(store, write("a"), write("b", scope="elsewhere"), write("c"))
        assert [one.stream for one in await store.feed(0, SCOPE)] == ["a", "c"]
        assert [one.stream for one in await store.feed(0, SCOPE, limit=1)] == ["a"]
        assert [one.stream for one in await store.feed(0, "elsewhere")] == ["b"]
        assert await store.feed(0, "nowhere") == []

    async def test_the_feed_of_a_correlation_has_the_events_of_its_streams(self, store: EventStore) -> None:
        await given(store, write("b"), write("other", head=head(correlation="trip-43")))
        await given(store, write("a"), write("a", scope="elsewhere"))
        await given(store, write("b", 1))
        log = list(await store.feed_of_correlation(SCOPE, "trip-42", 0))
        assert [(one.stream, one.version) for one in log] == [("b", 1), ("a", 1), ("b", 2)]
        assert list(await store.feed_of_correlation(SCOPE, "trip-42", log[0].seq, limit=1)) == log[1:2]
        assert log == [one for one in await store.feed(0, SCOPE) if one.stream != "other"]

    async def test_a_reader_beside_writers_misses_nothing_and_sees_nothing_twice(self, store: EventStore) -> None:
        writers = [asyncio.ensure_future(store.append(write(f"s{index % 150}"))) for index in range(300)]
        seen: list[UUID] = []
        seq, is_over = 0, False
        while not is_over:
            is_over = all(writer.done() for writer in writers)
            for one in await store.feed(seq, limit=7):
                seen.append(one.id)
                seq, is_over = one.seq, False
            await asyncio.sleep(0)
        await asyncio.gather(*writers)
        assert seen == [one.id for one in await store.feed(0)]
        assert len(seen) == 150

    async def test_the_last_seq_is_that_of_the_last_event(self, store: EventStore) -> None:
        assert await store.last_seq() == 0
        result = await given(store, write("a"), write("b"))
        await refused(store, write("a"))
        await given(store, comparison("a", 1))
        assert await store.last_seq() == result.last_seq == (await store.feed(0))[-1].seq

    async def test_a_listener_is_told_the_last_seq_at_once_and_whenever_it_has_grown(self, store: EventStore) -> None:
        first = await given(store, write("a"))
        async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
            assert await anext(wakeups) == first.last_seq
            for index in range(3):
                result = await given(store, write(f"s{index}"))
                assert await anext(wakeups) == result.last_seq

    async def test_a_slow_listener_is_told_the_newest_only(self, store: EventStore) -> None:
        async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as wakeups:
            assert await anext(wakeups) == 0
            results = [await given(store, write(f"s{index}")) for index in range(5)]
            told = [await anext(wakeups)]
            while told[-1] < results[-1].last_seq:
                told.append(await anext(wakeups))
            assert told == sorted(set(told))

    async def test_several_listeners_are_told_and_one_may_leave(self, store: EventStore) -> None:
        async with asyncio.timeout(WAIT_SECONDS), aclosing(listen(store)) as staying:
            async with aclosing(listen(store)) as leaving:
                assert [await anext(staying), await anext(leaving)] == [0, 0]
            result = await given(store, write("a"))
            assert await anext(staying) == result.last_seq

    async def test_closing_ends_listeners_and_refuses_what_comes_later(self, store: EventStore) -> None:
        wakeups = listen(store)
        assert await anext(wakeups) == 0
        waiting = asyncio.ensure_future(_drain(wakeups))
        await asyncio.sleep(0)
        await store.close()
        async with asyncio.timeout(WAIT_SECONDS):
            assert await waiting == []
        await store.close()
        for late in (
            store.append(write("a")),
            store.load(SCOPE, "a"),
            store.beat(SCOPE, ["a"]),
            store.take(SCOPE, "a", "ann", SECOND),
        ):
            with pytest.raises(StoreClosed):
                await late
        with pytest.raises(StoreClosed):
            store.wakeups()


def _names(streams: Sequence[Stream]) -> list[str]:
    return [stream.stream for stream in streams]


async def listen(store: EventStore) -> AsyncGenerator[int, None]:
    """Forward the wake-ups of a store, whose iterator need not be one that can be closed."""
    async for seq in store.wakeups():
        yield seq


async def _drain(wakeups: AsyncGenerator[int, None]) -> list[int]:
    return [seq async for seq in wakeups]
