"""The demo, as a user runs it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pausemesh.cli.demo.airline import Airline

TOKEN = re.compile(r"pmr_\w+")
SECONDS = 90.0
"""More than the demo allows itself, so that it is the demo that fails."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "kept"


@pytest.fixture(scope="module")
def finished(folder: Path) -> subprocess.CompletedProcess[str]:
    return run("--keep", str(folder), "--seed", "7", "--json")


@pytest.fixture(scope="module")
def report(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(finished.stdout)
    return parsed


@pytest.fixture(scope="module")
def rounds(report: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report["rounds"]
    return found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pausemesh", "demo", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)


def test_it_exits_with_0_and_says_that_all_is_as_it_must_be(
    finished: subprocess.CompletedProcess[str], report: dict[str, Any]
) -> None:
    assert (finished.returncode, report["violations"]) == (0, [])
    assert report["asItMustBe"] is True
    assert report["seed"] == 7


def test_every_round_has_one_question_that_outlives_those_who_asked(rounds: list[dict[str, Any]]) -> None:
    assert len({one["questionId"] for one in rounds}) == len(rounds) == 6
    assert {(one["questions"], one["notified"], one["unchangedAfterKill"]) for one in rounds} == {(1, 1, True)}


def test_of_20_answers_at_once_one_is_accepted_and_its_repeats_are_identical(rounds: list[dict[str, Any]]) -> None:
    for one in rounds:
        assert (one["answers"], len(one["won"]), one["lost"]) == (20, 1, {"TOKEN_ALREADY_USED": 19})
        assert one["repeats"] == {"count": 8, "identical": True}


def test_whoever_is_killed_hands_the_claim_on_under_the_next_fence(rounds: list[dict[str, Any]]) -> None:
    held = [[(holder["fence"], holder["end"]) for holder in one["holders"]] for one in rounds]
    handed_on = [(1, "killed"), (2, "done")]
    assert held == [*[handed_on] * 4, [(1, "stopped"), (2, "done")], [(1, "done")]]


def test_a_booking_that_was_interrupted_is_settled_by_evidence_and_any_other_by_itself(
    rounds: list[dict[str, Any]],
) -> None:
    assert [one["inDoubt"] for one in rounds] == [False, True, True, False, True, False]
    assert [one["settled"] for one in rounds] == [None, "not_done", "done", None, "done", None]


def test_the_overtaken_and_the_unapproved_are_refused(rounds: list[dict[str, Any]]) -> None:
    assert rounds[4]["refused"] == {"outcome": "LEASE_LOST", "done": "LEASE_LOST"}
    assert rounds[5]["refused"] == {"arguments": "ACTION_MISMATCH"}


def test_the_airline_itself_knows_of_one_booking_a_trip(rounds: list[dict[str, Any]], folder: Path) -> None:
    tickets = [Airline(folder / "airline.jsonl").bookings(f"trip-{one['number']}") for one in rounds]
    assert [len(booked) for booked in tickets] == [one["bookings"] for one in rounds] == [1] * 6
    assert [one["result"] for one in rounds] == [{"ticket": booked[0].ticket} for booked in tickets]


def test_steps_are_told_as_plain_text_beside_the_json(finished: subprocess.CompletedProcess[str]) -> None:
    assert finished.stderr.count(" s  round ") > 50
    assert "\x1b" not in finished.stdout + finished.stderr


def test_no_token_is_printed(finished: subprocess.CompletedProcess[str]) -> None:
    assert not TOKEN.search(finished.stdout + finished.stderr)


def test_a_booking_too_many_is_named_and_makes_the_demo_fail(tmp_path: Path) -> None:
    Airline(tmp_path / "airline.jsonl").book(reference="trip-1", flight="AZ1")
    done = run("--keep", str(tmp_path))
    assert done.returncode == 1
    assert "NOT as it must be:\n  round 1: the airline made 2 bookings\n" in done.stdout
