"""What every store must refuse before anything is compared, and what it must keep as it is."""

# ruff: noqa: D102 - a test's name is its sentence

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

import pytest

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.ports import EventStore, Write
from pausemesh.testing.clock import ManualClock
from pausemesh.testing.conformance_givens import SCOPE, SECOND, audit_row, event, given, head, write

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
