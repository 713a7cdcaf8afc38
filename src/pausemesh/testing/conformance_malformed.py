"""What every store must refuse before anything is compared, and what it must keep as it is."""

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import pytest

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.ports import EventStore
from pausemesh.records import Lease, Write
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, SECOND, audit_row, comparison, event, given, head, write

_SURROGATE: Final = "\ud800"
_NAIVE: Final = datetime(2026, 1, 1)  # noqa: DTZ001 - a time without a zone is what is refused
_COMPARISON: Final[dict[str, Any]] = {"events": (), "head": None}

_FLAWS: Final[dict[str, dict[str, Any]]] = {
    "scope_empty": {"scope": ""},
    "scope_no_text": {"scope": b"default"},
    "stream_empty": {"stream": ""},
    "stream_surrogate": {"stream": _SURROGATE},
    "stream_nul": {"stream": "a\0"},
    "version_negative": {"expected_version": -1},
    "version_huge": {"expected_version": 2**63},
    "version_bool": {"expected_version": True},
    "events_list": {"events": [event()]},
    "event_other": {"events": (b"{}",)},
    "event_id": {"events": (dataclasses.replace(event(), id=b"0" * 16),)},  # type: ignore[arg-type]
    "event_type": {"events": (dataclasses.replace(event(), type=""),)},
    "event_data_text": {"events": (dataclasses.replace(event(), data="{}"),)},  # type: ignore[arg-type]
    "event_data_changeable": {"events": (dataclasses.replace(event(), data=bytearray(b"{}")),)},  # type: ignore[arg-type]
    "head_missing": {"head": None},
    "head_kind": {"head": head(kind=None)},
    "head_status": {"head": head(status="")},
    "head_owner": {"head": head(owner=7)},
    "head_open": {"head": head(open=1)},
    "head_token": {"head": head(token_hash=7)},
    "head_due_without_zone": {"head": head(due_at=_NAIVE)},
    "token": {"token_hash": 7},
    "due": {"due": "ahead"},
    "fence": {"fence": -1},
    "silent_since_without_zone": {"silent_since": _NAIVE},
    "rows_list": {"rows": [audit_row()]},
    "row_other": {"rows": ("row",)},
    "row_id": {"rows": (audit_row(id="1"),)},
    "row_actor": {"rows": (audit_row(actor=None),)},
    "row_note": {"rows": (audit_row(note=_SURROGATE),)},
    "finish_without_fence": {"finish": True},
    "comparison_with_head": {**_COMPARISON, "head": head()},
    "comparison_with_rows": {**_COMPARISON, "rows": (audit_row(),)},
}


def _deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(3_000):
        nested = [nested]
    return nested


_OTHERS: Final[dict[str, Any]] = {
    "list": ["a"],
    "deep": _deep(),
    "bytes": b"a",
    "integer": 7,
    "float": 1.5,
    "dict": {"a": "b"},
    "object": object(),
}


def _asked_with(store: EventStore, other: Any) -> list[Callable[[], Awaitable[object]]]:
    """Return calls that give a value of another type in each of the places where a name or the like is expected."""
    lease = Lease(scope=SCOPE, stream="a", worker="ann", fence=1, until=datetime.now(UTC), attempts=1)
    spare: Any = None if other == 7 else other
    return [
        lambda: store.append(other),
        lambda: store.append(write(other)),
        lambda: store.append(write("b", scope=other)),
        lambda: store.append(write("b", head=other)),
        lambda: store.append(write("b", finish=other, fence=1)),
        lambda: store.append(write("b", history=other)),
        lambda: store.append(write("b", events=other)),
        lambda: store.append(write("b", spare)),
        lambda: store.load(other, "a"),
        lambda: store.load(SCOPE, other),
        lambda: store.load_many([(SCOPE, other)]),
        lambda: store.load_many([other]),
        lambda: store.list_by_correlation(other, "c"),
        lambda: store.list_by_correlation(SCOPE, other),
        lambda: store.list_by_correlation(SCOPE, "c", other),
        lambda: store.list_by_correlation(SCOPE, "c", "", spare),
        lambda: store.list_by_status(SCOPE, other, "pending"),
        lambda: store.list_by_status(SCOPE, "thing", "pending", other),
        lambda: store.list_by_status(SCOPE, "thing", "pending", (other, "a")),
        lambda: store.list_due(spare),
        lambda: store.list_audit(other),
        lambda: store.list_audit(SCOPE, other),
        lambda: store.list_audit(SCOPE, (lease.until, other)),
        lambda: store.feed(spare),
        lambda: store.feed(0, other),
        lambda: store.feed_of_correlation(SCOPE, other, 0),
        lambda: store.beat(SCOPE, [other]),
        lambda: store.take(SCOPE, "a", other, SECOND),
        lambda: store.take(SCOPE, "a", "ann", other),
        lambda: store.take_next(SCOPE, other, "ann", SECOND),
        lambda: store.renew(other, SECOND),
        lambda: store.renew(dataclasses.replace(lease, scope=other), SECOND),
        lambda: store.release(other),
        lambda: store.release(dataclasses.replace(lease, stream=other)),
        *_kept_up_with(store, other),
    ]


def _kept_up_with(store: EventStore, other: Any) -> list[Callable[[], Awaitable[object]]]:
    return [
        lambda: store.list_names(other),
        lambda: store.list_names((SCOPE, other)),
        lambda: store.list_names(limit=None if other == 7 else other),  # type: ignore[arg-type]
        lambda: store.examine([(SCOPE, other)]),
        lambda: store.examine([other]),
        lambda: store.restore_heads(other),
    ]


@pytest.mark.anyio
class MalformedContract:
    """Malformed writes, and odd but legal ones."""

    @pytest.mark.parametrize("flaw", list(_FLAWS))
    async def test_a_malformed_write_is_refused_with_its_whole_call(self, store: EventStore, flaw: str) -> None:
        malformed: Write = dataclasses.replace(write("a"), **_FLAWS[flaw])
        with pytest.raises(InvalidRequest):
            await store.append(write("fine"), malformed)
        assert await store.feed(0) == []

    async def test_a_call_has_at_least_one_write_and_a_limit(self, store: EventStore) -> None:
        for count in (0, limits.WRITES_PER_CALL + 1):
            with pytest.raises(InvalidRequest):
                await store.append(*[write(f"s{index}") for index in range(count)])
        await given(store, *[write(f"s{index}") for index in range(limits.WRITES_PER_CALL)])

    async def test_a_stream_is_written_once_in_a_call(self, store: EventStore) -> None:
        with pytest.raises(InvalidRequest):
            await store.append(write("a"), write("a", 1))
        await given(store, write("a"), write("a", scope="elsewhere"))

    async def test_a_deadline_finer_than_a_millisecond_is_refused(self, store: EventStore, clock: ManualClock) -> None:
        late = clock.now() + SECOND / 1_000_000
        with pytest.raises(InvalidRequest):
            await store.append(write("a", head=head(due_at=late)))

    async def test_what_no_stream_can_be_called_is_refused_wherever_it_is_asked_for(self, store: EventStore) -> None:
        asked: list[Callable[[str], Awaitable[object]]] = [
            lambda bad: store.load(SCOPE, bad),
            lambda bad: store.load(bad, "a"),
            lambda bad: store.load_many([(SCOPE, "a"), (SCOPE, bad)]),
            lambda bad: store.examine([(SCOPE, "a"), (SCOPE, bad)]),
            lambda bad: store.list_by_correlation(SCOPE, bad),
            lambda bad: store.list_by_correlation(SCOPE, "c", after=f"a{bad}\0"),
            lambda bad: store.list_by_status(SCOPE, "thing", bad),
            store.list_audit,
            lambda bad: store.feed(0, bad),
            lambda bad: store.feed_of_correlation(SCOPE, bad, 0),
            lambda bad: store.beat(SCOPE, ["a", bad]),
            lambda bad: store.take(SCOPE, bad, "ann", SECOND),
            lambda bad: store.take_next(SCOPE, bad, "ann", SECOND),
        ]
        for ask in asked:
            for bad in ("", "\0", _SURROGATE):
                with pytest.raises(InvalidRequest):
                    await ask(bad)

    @pytest.mark.parametrize("kind", list(_OTHERS))
    async def test_what_is_of_another_type_is_refused_wherever_it_is_given(self, store: EventStore, kind: str) -> None:
        other = _OTHERS[kind]
        await given(store, write("a"))
        for index, ask in enumerate(_asked_with(store, other)):
            with pytest.raises(InvalidRequest):
                assert await ask(), f"{kind} was taken by number {index}"
        assert len(await store.feed(0)) == 1

    async def test_names_in_a_list_are_not_the_characters_of_a_text(self, store: EventStore) -> None:
        bad: Any = "ab"
        with pytest.raises(InvalidRequest):
            await store.beat(SCOPE, bad)
        misshapen: list[Any] = [bad, [bad], [("a",)], [(SCOPE, "a", "b")], [[SCOPE, "a"]]]
        for refs in misshapen:
            with pytest.raises(InvalidRequest):
                await store.load_many(refs)

    async def test_a_time_that_has_no_place_in_utc_is_refused(self, store: EventStore) -> None:
        west, east = timezone(timedelta(hours=-1)), timezone(timedelta(hours=1))
        for moment in (datetime(9999, 12, 31, 23, 30, tzinfo=west), datetime(1, 1, 1, 0, 30, tzinfo=east)):
            with pytest.raises(InvalidRequest):
                await store.append(write("a", head=head(due_at=moment)))
            with pytest.raises(InvalidRequest):
                await store.append(comparison("a", 0, silent_since=moment))
            with pytest.raises(InvalidRequest):
                await store.list_by_status(SCOPE, "thing", "pending", (moment, "a"))

    async def test_a_cursor_that_no_list_gave_is_refused(self, store: EventStore, clock: ManualClock) -> None:
        with pytest.raises(InvalidRequest):
            await store.list_by_status(SCOPE, "thing", "pending", (_NAIVE, "a"))
        with pytest.raises(InvalidRequest):
            await store.list_by_status(SCOPE, "thing", "pending", (clock.now(), _SURROGATE))
        with pytest.raises(InvalidRequest):
            await store.list_audit(SCOPE, (_NAIVE, audit_row().id))
        for seq in (2**63, -(2**63) - 1):
            with pytest.raises(InvalidRequest):
                await store.feed(seq)
            with pytest.raises(InvalidRequest):
                await store.feed_of_correlation(SCOPE, "c", seq)

    async def test_names_of_any_script_and_content_of_any_bytes_come_back_whole(self, store: EventStore) -> None:
        names = ["ü", "空港", "🛫 ", "a'b\"c", "%_\\", "\x01\u202e"]
        content = bytes(range(256)) * 200
        for name in names:
            await given(store, write(name, head=head(correlation=name), events=(event(content),)))
        found = await store.load_many([(SCOPE, name) for name in names])
        assert [stream and (stream.head.correlation, stream.events[0].data) for stream in found] == [
            (name, content) for name in names
        ]
