"""Why every store must refuse a write: each condition, exactly at its edge, and the order of the reasons."""

import dataclasses
import itertools
from typing import Any, Final

import pytest

from pausemesh.ports import EventStore
from pausemesh.records import Due, Reason
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    OTHER_TOKEN,
    SCOPE,
    SECOND,
    TOKEN,
    given,
    given_decided,
    head,
    loaded,
    reasons,
    refused,
    taken,
    write,
)

_ORDER: Final[dict[Reason, dict[str, Any]]] = {
    Reason.TOKEN: {"token_hash": OTHER_TOKEN},
    Reason.VERSION: {"expected_version": 2},
    Reason.DUE_PASSED: {"due": Due.AHEAD},
    Reason.FENCE: {"fence": 2},
    Reason.NOT_SILENT: {"silent_since": None},
}
_PAIRS: Final = list(itertools.combinations(_ORDER, 2))


@pytest.mark.anyio
class ReasonContract:
    """Token, deadline, fence and silence, each compared in the step that writes."""

    async def test_the_right_token_passes_and_any_other_is_refused(self, store: EventStore) -> None:
        await given(store, write("a", head=head(token_hash=TOKEN)), write("b"))
        assert await reasons(store, write("a", 1, token_hash=OTHER_TOKEN)) == (Reason.TOKEN,)
        assert await reasons(store, write("b", 1, token_hash=TOKEN)) == (Reason.TOKEN,)
        assert await reasons(store, write("absent", token_hash=TOKEN)) == (Reason.TOKEN,)
        await given(store, write("a", 1, token_hash=TOKEN))

    async def test_a_deadline_is_ahead_until_the_instant_it_is_reached(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given(store, write("a", head=head(due_at=clock.now() + SECOND)))
        clock.advance(SECOND - SECOND / 1_000_000)
        assert await reasons(store, write("a", 1, due=Due.PASSED)) == (Reason.DUE_AHEAD,)
        clock.advance(SECOND / 1_000_000)
        result = await refused(store, write("a", 1, due=Due.AHEAD))
        assert (result.reasons, result.at) == ((Reason.DUE_PASSED,), clock.now())
        await given(store, write("a", 1, due=Due.PASSED))

    async def test_a_write_before_the_deadline_passes(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a", head=head(due_at=clock.now() + SECOND)))
        clock.advance(SECOND / 2)
        await given(store, write("a", 1, due=Due.AHEAD))

    async def test_without_a_deadline_none_has_passed(self, store: EventStore) -> None:
        await given(store, write("a"))
        assert await reasons(store, write("a", 1, due=Due.PASSED)) == (Reason.DUE_AHEAD,)
        assert await reasons(store, write("absent", due=Due.PASSED)) == (Reason.DUE_AHEAD,)
        await given(store, write("a", 1, due=Due.AHEAD))

    async def test_the_deadline_that_counts_is_the_stored_one(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a", head=head(due_at=clock.now() + SECOND)))
        clock.advance(SECOND)
        prolonged = head(due_at=clock.now() + SECOND)
        assert await reasons(store, write("a", 1, head=prolonged, due=Due.AHEAD)) == (Reason.DUE_PASSED,)

    async def test_the_present_fence_passes_while_its_lease_lives(self, store: EventStore, clock: ManualClock) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a", lease=SECOND)
        clock.advance(SECOND - SECOND / 1_000_000)
        await given(store, write("a", 1, fence=lease.fence))
        clock.advance(SECOND / 1_000_000)
        assert await reasons(store, write("a", 2, fence=lease.fence)) == (Reason.FENCE,)

    async def test_a_fence_of_nobody_is_refused(self, store: EventStore) -> None:
        await given_decided(store, "a")
        assert await reasons(store, write("a", 1, fence=0)) == (Reason.FENCE,)
        assert await reasons(store, write("absent", fence=0)) == (Reason.FENCE,)

    async def test_the_fence_before_and_the_fence_to_come_are_refused(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a")
        old = await taken(store, "a", lease=SECOND)
        clock.advance(SECOND)
        new = await taken(store, "a", "bob")
        assert await reasons(store, write("a", 1, fence=old.fence)) == (Reason.FENCE,)
        assert await reasons(store, write("a", 1, fence=new.fence + 1)) == (Reason.FENCE,)
        await given(store, write("a", 1, fence=new.fence))

    async def test_a_fence_that_was_given_back_is_refused(self, store: EventStore) -> None:
        await given_decided(store, "a")
        lease = await taken(store, "a")
        assert await store.release(lease)
        assert await reasons(store, write("a", 1, fence=lease.fence)) == (Reason.FENCE,)

    async def test_a_stream_is_silent_since_its_creation_where_it_never_beat(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given(store, write("a"))
        created = clock.now()
        clock.advance(30 * SECOND)
        assert await reasons(store, write("a", 1, silent_since=created)) == (Reason.NOT_SILENT,)
        assert await reasons(store, write("absent", silent_since=created)) == (Reason.NOT_SILENT,)
        await given(store, write("a", 1, silent_since=created + SECOND / 1_000_000))

    async def test_a_beat_breaks_the_silence(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a"), write("b"))
        clock.advance(20 * SECOND)
        await store.beat(SCOPE, ["a", "absent"])
        beat = clock.now()
        assert await reasons(store, write("a", 1, silent_since=beat)) == (Reason.NOT_SILENT,)
        await given(store, write("b", 1, silent_since=beat))
        await given(store, write("a", 1, silent_since=beat + SECOND / 1_000_000))

    async def test_the_last_beat_counts_and_only_that_of_the_stream_itself(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given(store, write("a"), write("a", scope="elsewhere"))
        for _ in range(2):
            clock.advance(SECOND)
            await store.beat(SCOPE, ["a"])
        assert await reasons(store, write("a", 1, silent_since=clock.now())) == (Reason.NOT_SILENT,)
        await given(store, write("a", 1, scope="elsewhere", silent_since=clock.now()))
        await store.beat(SCOPE, [])

    async def test_a_beat_changes_nothing_that_can_be_seen(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a"))
        before = await loaded(store, "a")
        clock.advance(SECOND)
        await store.beat(SCOPE, ["a"])
        assert await loaded(store, "a") == before

    @pytest.mark.parametrize(("first", "second"), _PAIRS, ids=[f"{one.name}-{two.name}" for one, two in _PAIRS])
    async def test_where_two_reasons_hold_the_first_in_the_order_is_told(
        self, store: EventStore, clock: ManualClock, first: Reason, second: Reason
    ) -> None:
        decided = head(status="resumed", open=False, token_hash=TOKEN, due_at=clock.now() + SECOND)
        await given(store, write("a", head=decided))
        await taken(store, "a")
        clock.advance(SECOND)
        await store.beat(SCOPE, ["a"])
        members = {**_ORDER[first], **_ORDER[second]}
        if "silent_since" in members:
            members["silent_since"] = clock.now()
        both = dataclasses.replace(write("a", 1), **members)
        assert await reasons(store, both) == (first,)

    @pytest.mark.parametrize("later", [Reason.FENCE, Reason.NOT_SILENT])
    async def test_a_deadline_still_ahead_is_told_before_fence_and_silence(
        self, store: EventStore, clock: ManualClock, later: Reason
    ) -> None:
        await given(store, write("a"))
        members = {**_ORDER[later], "due": Due.PASSED}
        if later is Reason.NOT_SILENT:
            members["silent_since"] = clock.now()
        assert await reasons(store, dataclasses.replace(write("a", 1), **members)) == (Reason.DUE_AHEAD,)
        assert await reasons(store, dataclasses.replace(write("a", 1), **members, token_hash=TOKEN)) == (Reason.TOKEN,)

    async def test_a_write_with_a_reason_of_its_own_is_told_that_and_not_its_siblings(self, store: EventStore) -> None:
        await given(store, write("a"))
        told = await reasons(store, write("a", 1, token_hash=TOKEN), write("b", 3), write("c"))
        assert told == (Reason.TOKEN, Reason.VERSION, Reason.SIBLING)

    async def test_a_condition_that_fails_stores_neither_head_nor_rows(self, store: EventStore) -> None:
        await given(store, write("a", head=head(token_hash=TOKEN)))
        before = await loaded(store, "a")
        await reasons(store, write("a", 1, head=head(status="resumed"), token_hash=OTHER_TOKEN))
        assert await loaded(store, "a") == before
