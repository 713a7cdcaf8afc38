"""Times are told as a person would, also where a clock is off or a text is no time."""

from datetime import UTC, datetime, timedelta

import pytest

from pausemesh.cli.durations import age, time_left, urgency
from pausemesh.core.values import time_to_text

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(0), "0 s"),
        (timedelta(milliseconds=999), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=1), "1 min"),
        (timedelta(minutes=9, seconds=5), "9 min 5 s"),
        (timedelta(minutes=10, seconds=5), "10 min"),
        (timedelta(hours=1, seconds=5), "1 h"),
        (timedelta(days=6, hours=23), "6 d 23 h"),
        (timedelta(days=400), "400 d"),
    ],
)
def test_a_span_is_told_in_its_largest_unit_and_the_next_where_it_matters(span: timedelta, words: str) -> None:
    assert age(time_to_text(NOW - span), NOW) == words
    assert time_left(time_to_text(NOW + span), NOW) == (words if span >= timedelta(milliseconds=1) else "over")


def test_what_is_asked_by_a_clock_that_is_ahead_is_new() -> None:
    assert age(time_to_text(NOW + timedelta(days=1)), NOW) == "0 s"


def test_what_has_no_end_or_no_time_is_told_so() -> None:
    assert time_left(None, NOW) == "no end"
    assert time_left(time_to_text(NOW - timedelta(days=1)), NOW) == "over"
    for nonsense in ("", "soon", "2030-01-01", "2030-01-01T00:00:00+00:00"):
        assert (age(nonsense, NOW), time_left(nonsense, NOW), urgency(nonsense, NOW)) == ("?", "?", "")


@pytest.mark.parametrize(
    ("left", "style"),
    [(timedelta(minutes=-1), "red"), (timedelta(minutes=9), "red"), (timedelta(minutes=10), "yellow"),
     (timedelta(minutes=59), "yellow"), (timedelta(hours=1), "")],
)  # fmt: skip
def test_little_time_is_shown_in_a_colour(left: timedelta, style: str) -> None:
    assert urgency(time_to_text(NOW + left), NOW) == style
    assert urgency(None, NOW) == ""
