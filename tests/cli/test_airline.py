"""The demo's airline is a world of its own: it keeps what it sold, and sells as often as it is told to."""

from pathlib import Path

import pytest

from pausemesh.cli.demo.airline import Airline


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "airline.jsonl"


def test_an_airline_that_sold_nothing_has_no_bookings(book: Path) -> None:
    assert Airline(book).bookings("trip-1") == ()


def test_what_was_booked_is_found_by_another_process_under_its_reference(book: Path) -> None:
    booked = Airline(book).book(reference="trip-1", flight="AZ610")
    assert Airline(book).bookings("trip-1") == (booked,)
    assert booked.flight == "AZ610"


def test_two_equal_calls_are_two_bookings(book: Path) -> None:
    airline = Airline(book)
    tickets = {airline.book(reference="trip-1", flight="AZ610").ticket for _ in range(2)}
    assert len(tickets) == 2
    assert {booking.ticket for booking in airline.bookings("trip-1")} == tickets


def test_bookings_of_other_references_are_not_counted(book: Path) -> None:
    airline = Airline(book)
    airline.book(reference="trip-1", flight="AZ610")
    assert airline.bookings("trip-10") == ()


def test_a_line_that_is_still_being_written_is_no_booking(book: Path) -> None:
    airline = Airline(book)
    booked = airline.book(reference="trip-1", flight="AZ610")
    with book.open("ab") as file:
        file.write(b'{"reference": "trip-1", "fli')
    assert airline.bookings("trip-1") == (booked,)
