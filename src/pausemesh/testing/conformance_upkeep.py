"""What every store must offer to whoever checks and mends it: all names, what is under them, and heads written anew."""

import dataclasses
from typing import Any, Final

import pytest

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.ports import EventStore
from pausemesh.records import ClaimColumns, Examined, Restoring, Stream
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import (
    OTHER_TOKEN,
    SCOPE,
    SECOND,
    TOKEN,
    audit_row,
    event,
    given,
    given_decided,
    head,
    loaded,
    taken,
    write,
)

_RESTORED: Final[dict[str, dict[str, Any]]] = {
    "scope": {"scope": ""},
    "stream": {"stream": "a\0"},
    "version_0": {"version": 0},
    "version_bool": {"version": True},
    "created_at": {"created_at": None},
    "updated_at": {"updated_at": 7},
    "head_other": {"head": "head"},
    "head_status": {"head": head(status="")},
    "claim_other": {"claim": None},
    "claim_holder": {"claim": ClaimColumns(holder=7)},  # type: ignore[arg-type]
    "claim_fence": {"claim": ClaimColumns(fence=-1)},
    "claim_attempts": {"claim": ClaimColumns(attempts=True)},
    "claim_lease": {"claim": ClaimColumns(lease_until=7)},  # type: ignore[arg-type]
    "claim_done": {"claim": ClaimColumns(done_at=7)},  # type: ignore[arg-type]
}


@pytest.mark.anyio
class UpkeepContract:
    """Checking and mending."""

    async def test_all_names_of_all_scopes_are_listed_in_order_and_page_by_page(self, store: EventStore) -> None:
        names = [(SCOPE, "b"), (SCOPE, "a"), ("elsewhere", "a"), (SCOPE, "é"), (".keys", "z"), (SCOPE, "B")]
        for scope, stream in names:
            await given(store, write(stream, scope=scope, events=(event(), event())))
        assert list(await store.list_names()) == sorted(names)
        pages, after = [], None
        while page := await store.list_names(after, limit=4):
            pages.append([*page])
            after = page[-1]
        assert [len(page) for page in pages] == [4, 2]
        assert [name for page in pages for name in page] == sorted(names)

    async def test_what_is_examined_is_the_head_and_the_events_as_they_are_stored(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        await given_decided(store, "a", queue="q", token_hash=TOKEN, due_at=clock.now() + SECOND)
        await taken(store, "a")
        whole = await loaded(store, "a")
        there, nowhere, again = await store.examine([(SCOPE, "a"), ("elsewhere", "a"), (SCOPE, "a")])
        assert there == again
        assert there == Examined(
            scope=SCOPE, stream="a", head=dataclasses.replace(whole, events=()), events=whole.events
        )
        assert nowhere == Examined(scope="elsewhere", stream="a", head=None, events=())

    async def test_a_head_is_written_anew_with_all_that_it_has(self, store: EventStore, clock: ManualClock) -> None:
        await given(store, write("a", head=head(token_hash=TOKEN), events=(event(), event()), rows=(audit_row(),)))
        clock.advance(SECOND)
        seen = await seen_of(store, "a")
        wanted = dataclasses.replace(
            seen,
            head=head(
                kind="other",
                status="resumed",
                open=False,
                correlation="trip-43",
                owner="task:1",
                trace="t",
                queue="q",
                token_hash=OTHER_TOKEN,
                due_at=clock.now() + SECOND,
            ),
            claim=ClaimColumns(holder="ann", fence=7, lease_until=clock.now(), done_at=clock.now(), attempts=3),
            created_at=clock.now(),
            updated_at=clock.now() + SECOND,
        )
        assert list(await store.restore_heads(Restoring(seen=seen, head=wanted))) == [True]
        assert await seen_of(store, "a") == wanted
        assert [one.stream for one in await store.list_by_correlation(SCOPE, "trip-43")] == ["a"]
        assert await store.list_by_correlation(SCOPE, "trip-42") == []
        assert (await loaded(store, "a")).version == 2

    async def test_a_head_that_is_another_by_now_stays_and_hinders_no_other(
        self, store: EventStore, clock: ManualClock
    ) -> None:
        for name in ("decided", "taken", "same", "beaten"):
            await given_decided(store, name)
        seen = [await seen_of(store, name) for name in ("decided", "taken", "same", "beaten")]
        clock.advance(SECOND)
        await given(store, write("decided", 1))
        await taken(store, "taken")
        await store.beat(SCOPE, ["beaten"])
        wanted = [dataclasses.replace(one, head=head(status="mended")) for one in seen]
        written = await store.restore_heads(
            *[Restoring(seen=one, head=other) for one, other in zip(seen, wanted, strict=True)]
        )
        assert list(written) == [False, False, True, True]
        statuses = [(await seen_of(store, name)).head.status for name in ("decided", "taken", "same", "beaten")]
        assert statuses == ["pending", "resumed", "mended", "mended"]

    async def test_a_head_is_written_only_for_the_last_version_of_its_events(self, store: EventStore) -> None:
        await given(store, write("a", events=(event(), event())))
        seen = await seen_of(store, "a")
        for version in (1, 3):
            wanted = dataclasses.replace(seen, version=version)
            assert list(await store.restore_heads(Restoring(seen=seen, head=wanted))) == [False]
        nowhere = dataclasses.replace(seen, stream="b")
        assert list(await store.restore_heads(Restoring(seen=None, head=nowhere))) == [False]
        assert list(await store.restore_heads(Restoring(seen=None, head=seen))) == [False]
        assert await seen_of(store, "a") == seen

    async def test_writing_heads_anew_is_no_event(self, store: EventStore) -> None:
        result = await given(store, write("a"))
        seen = await seen_of(store, "a")
        await store.restore_heads(Restoring(seen=seen, head=dataclasses.replace(seen, updated_at=seen.created_at)))
        assert await store.last_seq() == result.last_seq

    async def test_a_call_has_at_least_one_head_a_limit_and_each_stream_once(self, store: EventStore) -> None:
        await given(store, write("a"))
        seen = await seen_of(store, "a")
        one = Restoring(seen=seen, head=seen)
        for heads in ([], [one, one], [one] * (limits.WRITES_PER_CALL + 1)):
            with pytest.raises(InvalidRequest):
                await store.restore_heads(*heads)

    @pytest.mark.parametrize("flaw", list(_RESTORED))
    async def test_a_malformed_head_is_not_written(self, store: EventStore, flaw: str) -> None:
        await given(store, write("a"))
        seen = await seen_of(store, "a")
        with pytest.raises(InvalidRequest):
            await store.restore_heads(Restoring(seen=seen, head=dataclasses.replace(seen, **_RESTORED[flaw])))
        other: Any = "seen"
        with pytest.raises(InvalidRequest):
            await store.restore_heads(Restoring(seen=other, head=seen))
        assert await seen_of(store, "a") == seen

    async def test_a_store_in_use_is_whole(self, store: EventStore) -> None:
        await given(store, write("a"), write("b"))
        assert list(await store.check_integrity()) == []
        assert list(await store.check_integrity(quick=True)) == []


async def seen_of(store: EventStore, stream: str) -> Stream:
    """Return the head of a stream that surely is there, without its events."""
    [examined] = await store.examine([(SCOPE, stream)])
    assert examined.head is not None
    return examined.head
