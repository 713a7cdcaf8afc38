"""What every store must do with appends: compare and swap, all or nothing, each call for itself."""

import asyncio
import dataclasses
import random
from datetime import datetime

import pytest

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest, StreamTooLong
from pausemesh.ports import EventStore
from pausemesh.records import Appended, Due, Reason, Refused
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    SCOPE,
    SECOND,
    TOKEN,
    audit_row,
    comparison,
    event,
    given,
    head,
    loaded,
    reasons,
    refused,
    write,
)


@pytest.mark.anyio
class AppendContract:
    """Appends, of one write and of several, by one caller and by many."""

    async def test_a_created_stream_is_loaded_as_it_was_written(self, store: EventStore, clock: ManualClock) -> None:
        full = head(owner="pause:1", trace="t", queue="q", token_hash=TOKEN, due_at=clock.now() + SECOND)
        creation = write("a", head=full, events=(event(b"\x00one"), event(b"")))
        result = await given(store, creation)
        stream = await loaded(store, "a")
        assert (stream.scope, stream.stream, stream.version, stream.head) == (SCOPE, "a", 2, full)
        assert [(one.version, one.id, one.data) for one in stream.events] == [
            (1, creation.events[0].id, b"\x00one"),
            (2, creation.events[1].id, b""),
        ]
        assert stream.events[-1].seq == result.last_seq
        assert {stream.created_at, stream.updated_at, result.at} == {clock.now()}
        assert {one.at for one in stream.events} == {clock.now()}

    async def test_a_change_replaces_the_head_and_keeps_the_time_of_creation(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        created = clock.now()
        await given(store, write("a", head=head(due_at=created + SECOND, owner="pause:1")))
        clock.advance(SECOND)
        await given(store, write("a", 1, head=head(status="resumed", open=False)))
        stream = await loaded(store, "a")
        assert stream.head == head(status="resumed", open=False)
        assert (stream.created_at, stream.updated_at) == (created, created + SECOND)

    async def test_times_are_utc_and_exact_to_the_microsecond(self, store: EventStore, clock: ManualClock) -> None:
        clock.set(datetime.fromisoformat("2031-05-06T07:08:09.123457+05:30"))
        result = await given(store, write("a"))
        stream = await loaded(store, "a")
        assert stream.created_at == result.at == clock.now()
        assert stream.created_at.utcoffset() == stream.events[0].at.utcoffset() == 0 * SECOND

    async def test_a_stream_that_nobody_wrote_is_not_there(self, store: EventStore) -> None:
        await given(store, write("a"))
        assert await store.load(SCOPE, "b") is None
        assert await store.load("elsewhere", "a") is None

    async def test_many_streams_are_loaded_in_the_order_that_was_asked(self, store: EventStore) -> None:
        await given(store, write("a"), write("b"))
        refs = [(SCOPE, "b"), (SCOPE, "none"), (SCOPE, "a"), (SCOPE, "b")]
        found = await store.load_many(refs)
        assert [stream and stream.stream for stream in found] == ["b", None, "a", "b"]
        assert await store.load_many([]) == []

    async def test_of_two_appends_at_one_version_the_second_is_told_both_versions(self, store: EventStore) -> None:
        await given(store, write("a"))
        await given(store, write("a", 1))
        result = await refused(store, write("a", 1))
        assert (result.reasons, result.expected, result.actual) == ((Reason.VERSION,), (1,), (2,))

    async def test_a_stream_that_should_exist_and_does_not_has_version_0(self, store: EventStore) -> None:
        result = await refused(store, write("a", 3))
        assert (result.reasons, result.expected, result.actual) == ((Reason.VERSION,), (3,), (0,))

    async def test_of_200_appends_at_one_version_one_wins(self, store: EventStore) -> None:
        await given(store, write("a"))
        results = await asyncio.gather(*[store.append(write("a", 1)) for _ in range(200)])
        assert sum(isinstance(result, Appended) for result in results) == 1
        assert {result.actual for result in results if isinstance(result, Refused)} == {(2,)}
        assert (await loaded(store, "a")).version == 2

    async def test_of_200_creations_one_wins_and_the_others_find_it(self, store: EventStore) -> None:
        creations = [write("a", history=True) for _ in range(200)]
        results = await asyncio.gather(*[store.append(creation) for creation in creations])
        [winner] = [one.events[0].id for one, result in zip(creations, results, strict=True) if _won(result)]
        assert {_found(result) for result in results} == {winner}

    async def test_a_call_over_several_streams_is_stored_whole(self, store: EventStore) -> None:
        result = await given(store, write("a"), write("b", scope="elsewhere"), write("c"))
        found = await store.load_many([(SCOPE, "a"), ("elsewhere", "b"), (SCOPE, "c")])
        seqs = [stream.events[0].seq for stream in found if stream is not None]
        assert seqs == sorted(seqs)
        assert seqs[-1] == result.last_seq
        assert len(seqs) == len(result.streams) == 3

    async def test_a_call_with_one_stale_write_stores_nothing_and_gives_each_write_its_reason(
        self, store: EventStore
    ) -> None:
        await given(store, write("b"))
        result = await refused(store, write("a"), write("b", rows=(audit_row(),)), write("c"))
        assert result.reasons == (Reason.SIBLING, Reason.VERSION, Reason.SIBLING)
        assert (result.expected, result.actual) == ((0, 0, 0), (0, 1, 0))
        assert await store.load_many([(SCOPE, "a"), (SCOPE, "c")]) == [None, None]
        assert await store.list_audit(SCOPE) == []

    async def test_calls_that_overlap_in_any_order_are_stored_whole_or_not_at_all(self, store: EventStore) -> None:
        dice = random.Random(7)
        calls = [[write(name) for name in dice.sample("abcdefgh", dice.randint(2, 4))] for _ in range(100)]
        results = await asyncio.gather(*[store.append(*call) for call in calls])
        won = [call for call, result in zip(calls, results, strict=True) if _won(result)]
        stored = {one.id for one in await store.feed(0)}
        assert stored == {one.events[0].id for call in won for one in call}
        assert len(stored) == sum(len(call) for call in won)

    async def test_a_write_without_events_compares_and_stores_nothing(self, store: EventStore) -> None:
        first = await given(store, write("a", head=head(token_hash=TOKEN)))
        result = await given(store, comparison("a", 1, token_hash=TOKEN), comparison("b", 0))
        assert (result.replayed, result.last_seq, result.streams) == (False, first.last_seq, (None, None))
        assert await reasons(store, comparison("a", 2)) == (Reason.VERSION,)
        assert (await loaded(store, "a")).version == 1
        assert await store.load(SCOPE, "b") is None

    async def test_a_write_beside_a_failing_comparison_is_refused(self, store: EventStore) -> None:
        await given(store, write("a"))
        assert await reasons(store, comparison("a", 2), write("b")) == (Reason.VERSION, Reason.SIBLING)
        assert await store.load(SCOPE, "b") is None

    async def test_the_same_call_again_is_told_its_first_outcome(self, store: EventStore, clock: ManualClock) -> None:
        call = (write("a", rows=(audit_row(),)), write("b"))
        first = await given(store, *call)
        clock.advance(SECOND)
        await given(store, write("a", 1))
        again = await given(store, *call)
        assert again == dataclasses.replace(first, replayed=True)
        assert len(await store.feed(0)) == 3
        assert len(await store.list_audit(SCOPE)) == 1

    async def test_a_repeated_call_is_told_its_outcome_whatever_its_conditions_say_now(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given(store, write("a", head=head(token_hash=TOKEN, due_at=clock.now() + SECOND)))
        call = write("a", 1, head=head(open=False), token_hash=TOKEN, due=Due.AHEAD)
        await given(store, call)
        clock.advance(2 * SECOND)
        assert (await given(store, call)).replayed

    async def test_a_call_with_comparisons_was_committed_when_all_its_events_were(self, store: EventStore) -> None:
        await given(store, write("a"))
        call = (comparison("a", 1), write("b"))
        await given(store, *call)
        await given(store, write("a", 1))
        assert (await given(store, *call)).replayed
        assert await reasons(store, call[0], write("c")) == (Reason.VERSION, Reason.SIBLING)

    async def test_a_call_of_which_only_a_part_is_stored_was_not_committed(self, store: EventStore) -> None:
        shared = write("a")
        await given(store, shared)
        assert await reasons(store, shared, write("b")) == (Reason.VERSION, Reason.SIBLING)
        await given(store, write("b"))
        assert await reasons(store, shared, write("b")) == (Reason.VERSION, Reason.VERSION)

    async def test_the_winner_gets_its_history_with_what_it_wrote(self, store: EventStore) -> None:
        await given(store, write("a"), write("b"))
        result = await given(store, write("b", 1), write("a", 1, head=head(status="resumed"), history=True))
        assert result.streams == (None, await loaded(store, "a"))

    async def test_the_loser_gets_its_history_as_it_is(self, store: EventStore) -> None:
        await given(store, write("a"))
        result = await refused(store, write("a", history=True), write("b", history=True))
        assert result.streams == (await loaded(store, "a"), None)

    async def test_a_repeated_call_gets_the_history_as_it_is_now(self, store: EventStore) -> None:
        call = write("a", history=True)
        await given(store, call)
        await given(store, write("a", 1))
        assert (await given(store, call)).streams == (await loaded(store, "a"),)

    async def test_a_stream_may_hold_so_many_events_and_no_more(self, store: EventStore) -> None:
        most = limits.EVENTS_PER_STREAM
        await given(store, write("a", events=tuple(event() for _ in range(most - 1))))
        with pytest.raises(StreamTooLong) as raised:
            await store.append(write("b"), write("a", most - 1, events=(event(), event())))
        assert raised.value.limit == most
        assert await store.load(SCOPE, "b") is None
        await given(store, write("a", most - 1))
        with pytest.raises(StreamTooLong):
            await store.append(write("a", most))
        assert (await loaded(store, "a")).version == most

    async def test_a_stale_version_is_told_before_the_length(self, store: EventStore) -> None:
        await given(store, write("a"))
        too_many = tuple(event() for _ in range(limits.EVENTS_PER_STREAM + 1))
        assert await reasons(store, write("a", events=too_many)) == (Reason.VERSION,)

    async def test_kind_and_correlation_never_change(self, store: EventStore) -> None:
        await given(store, write("a"))
        for changed in (head(kind="other"), head(correlation="other")):
            with pytest.raises(InvalidRequest):
                await store.append(write("b"), write("a", 1, head=changed))
        assert await store.load(SCOPE, "b") is None
        assert (await loaded(store, "a")).version == 1

    async def test_what_a_store_returns_shares_nothing_that_can_be_changed(self, store: EventStore) -> None:
        call = write("a", rows=(audit_row(),), history=True)
        result = await given(store, call)
        stream = await loaded(store, "a")
        for frozen, name in [(result, "at"), (stream, "version"), (stream.head, "status"), (stream.events[0], "data")]:
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(frozen, name, None)
        assert {type(stream.events).__name__, type(result.streams).__name__} == {"tuple"}
        assert type(stream.events[0].data).__name__ == "bytes"

    async def test_a_malformed_call_hurts_none_of_its_neighbours(self, store: EventStore) -> None:
        calls = [[write(f"s{index}")] for index in range(20)]
        calls[7] = [write("s7"), write("bad", expected_version=-1)]
        results = await asyncio.gather(*[store.append(*call) for call in calls], return_exceptions=True)
        assert [index for index, result in enumerate(results) if isinstance(result, InvalidRequest)] == [7]
        assert len(await store.feed(0)) == 19

    async def test_cancelled_callers_leave_whole_calls_or_nothing(self, store: EventStore) -> None:
        dice = random.Random(11)
        calls = [(write(f"a{index}", rows=(audit_row(),)), write(f"b{index}")) for index in range(100)]
        tasks = [asyncio.ensure_future(store.append(*call)) for call in calls]
        await asyncio.sleep(0)
        for task in dice.sample(tasks, 10):
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        pairs = [await store.load_many([(SCOPE, one.stream) for one in call]) for call in calls]
        assert all((first is None) == (second is None) for first, second in pairs)
        assert all(pair[0] for pair, result in zip(pairs, results, strict=True) if isinstance(result, Appended))
        assert len(await store.list_audit(SCOPE, limit=200)) == sum(pair[0] is not None for pair in pairs)


def _won(result: Appended | Refused) -> bool:
    return isinstance(result, Appended)


def _found(result: Appended | Refused) -> object:
    [stream] = result.streams
    return stream and stream.events[0].id
