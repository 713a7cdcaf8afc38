"""What becomes of a call is decided by facts alone; here by facts that a healthy store would not have."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from pausemesh.core.errors import StoreCorrupt, StreamTooLong
from pausemesh.records import Appended, Refused, Stream
from pausemesh.stores.batch import Cleared, EventMark, judge
from pausemesh.stores.rows import EventRow, HeadRow, created_head, from_micros, to_micros, whole_stream
from pausemesh.testing.conformance_givens import comparison, event, head, write

NOW = 1_800_000_000_000_000
MOST = 32


class Stored:
    """Facts that are told outright."""

    def __init__(self, *heads: HeadRow, marks: dict[tuple[str, int], EventMark] | None = None) -> None:
        self._heads = {(row.scope, row.stream): row for row in heads}
        self._marks = marks or {}

    def find_head(self, scope: str, stream: str) -> HeadRow | None:
        return self._heads.get((scope, stream))

    def find_event(self, scope: str, stream: str, version: int) -> EventMark | None:
        return self._marks.get((stream, version)) if scope else None

    def find_beat(self, scope: str, stream: str) -> int | None:
        return None if (scope, stream) in self._heads else 0

    def find_stream(self, row: HeadRow) -> Stream:
        return whole_stream(row, [], MOST)


def stored_head(stream: str, version: int) -> HeadRow:
    return created_head(write(stream), head(), NOW)._replace(version=version)


def test_a_cleared_call_comes_with_the_heads_it_builds_on() -> None:
    before = stored_head("a", 1)
    verdict = judge([write("a", 1), write("b")], Stored(before), NOW, MOST)
    assert verdict == Cleared((before, None))


def test_an_event_id_that_was_used_again_by_a_longer_call_is_no_repetition() -> None:
    call = write("a", events=(event(), event()))
    facts = Stored(stored_head("a", 1), marks={("a", 1): EventMark(1, call.events[0].id.bytes, NOW)})
    assert isinstance(judge([call], facts, NOW, MOST), Refused)


def test_a_repetition_is_told_the_greatest_seq_and_the_time_of_its_own_events() -> None:
    calls = [write("b", events=(event(), event())), comparison("c", 0), write("a")]
    marks = {
        ("b", 1): EventMark(7, calls[0].events[0].id.bytes, NOW - 5),
        ("b", 2): EventMark(8, calls[0].events[1].id.bytes, NOW - 5),
        ("a", 1): EventMark(9, calls[2].events[0].id.bytes, NOW - 5),
    }
    verdict = judge(calls, Stored(stored_head("b", 2), stored_head("a", 4), marks=marks), NOW, MOST)
    assert verdict == Appended(at=from_micros(NOW - 5), last_seq=9, replayed=True, streams=(None, None, None))


def test_times_survive_as_microseconds() -> None:
    for moment in (datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), from_micros(NOW)):
        assert from_micros(to_micros(moment)) == moment
    assert to_micros(from_micros(NOW) + timedelta(microseconds=1)) == NOW + 1


def rows(*versions: int) -> list[EventRow]:
    return [
        EventRow(seq, "default", "a", version, uuid.uuid4().bytes, "t", NOW, b"")
        for seq, version in enumerate(versions)
    ]


@pytest.mark.parametrize(
    "versions",
    [(), (1,), (1, 2), (1, 3), (2, 3, 4), (1, 2, 2), (1, 2, 3, 4), (3, 2, 1)],
)
def test_a_stream_whose_versions_do_not_fit_its_head_is_corrupt(versions: tuple[int, ...]) -> None:
    with pytest.raises(StoreCorrupt):
        whole_stream(stored_head("a", 3), rows(*versions), MOST)


def test_a_stream_that_is_too_long_is_refused_before_its_events_are_looked_at() -> None:
    with pytest.raises(StreamTooLong):
        whole_stream(stored_head("a", MOST + 1), [], MOST)


def test_a_whole_stream_has_all_its_events() -> None:
    stream = whole_stream(stored_head("a", 3), rows(1, 2, 3), 3)
    assert [one.version for one in stream.events] == [1, 2, 3]
