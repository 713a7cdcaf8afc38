"""What the demo expects of a round: each expectation, where it is not met, is named and makes the demo fail."""

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from pausemesh.cli.demo.desk import ACCEPTED, Call
from pausemesh.cli.demo.evening import Evening
from pausemesh.cli.demo.going_on import Aftermath, GoingOn, Holder
from pausemesh.cli.demo.morning import Morning, Told
from pausemesh.cli.demo.plans import PLANS, Plan
from pausemesh.cli.demo.report import Report
from pausemesh.cli.demo.rounds import Round, violations

KILLED_BEFORE, KILLED_CALLING, _, _, STOPPED, APPROVAL = PLANS
TOKEN = "pmr_secret"
EVENING = Evening(
    question="q_1",
    found=frozenset({"q_1"}),
    notified=1,
    ends=(-9, -9),
    unchanged=True,
    probe="ANSWER_INVALID",
    token=TOKEN,
    shown_digest="d",
)


def told(number: int, code: str = ACCEPTED, **members: Any) -> Told:
    call = Call(label=str(number), question="q_1", key=f"k{number}", payload={"flight": f"AZ{number}"}, token=TOKEN)
    return Told(**{"call": call, "desk": 1, "code": code, "status": "resumed", **members})


WINNER = told(0, envelope="{}")
REPEAT = told(0, envelope="{}", replayed=True)
LOSERS = tuple(told(number, "TOKEN_ALREADY_USED") for number in range(1, 20))
MORNING = Morning(
    race=(WINNER, *LOSERS),
    repeats=(REPEAT, REPEAT),
    other_body=told(0, "IDEMPOTENCY_CONFLICT"),
    wrong_token=told(0, "TOKEN_MISMATCH"),
)
KILLED_AND_DONE = (Holder(fence=1, end="killed"), Holder(fence=2, end="done"))
RESULT = {"ticket": "AZ0-1"}
GOING_ON = {
    KILLED_BEFORE: GoingOn(holders=KILLED_AND_DONE, result=RESULT),
    KILLED_CALLING: GoingOn(holders=KILLED_AND_DONE, doubt="EFFECT_UNKNOWN", settled="not_done", result=RESULT),
    STOPPED: GoingOn(
        holders=(Holder(fence=1, end="stopped"), Holder(fence=2, end="done")),
        doubt="EFFECT_UNKNOWN",
        settled="done",
        refusals={"outcome": "LEASE_LOST", "done": "LEASE_LOST"},
        result=RESULT,
    ),
    APPROVAL: GoingOn(holders=(Holder(fence=1, end="done"),), refusals={"arguments": "ACTION_MISMATCH"}, result=RESULT),
}


def a_good_round(plan: Plan = KILLED_BEFORE) -> Round:
    aftermath = Aftermath(late="INVALID_TRANSITION", late_result=RESULT, starts=plan.starts, tickets=("AZ0-1",))
    return Round(plan=plan, evening=EVENING, morning=MORNING, going_on=GOING_ON[plan], aftermath=aftermath)


def doctored(plan: Plan, part: str, **members: Any) -> Round:
    good = a_good_round(plan)
    return dataclasses.replace(good, **{part: dataclasses.replace(getattr(good, part), **members)})


def printed(report: Report) -> str:
    file = io.StringIO()
    report.print_to(Console(file=file, width=100))
    return file.getvalue()


def a_report(*rounds: Round, trouble: str | None = None) -> Report:
    return Report(rounds=rounds, seed=7, seconds=1.5, trouble=trouble)


@pytest.mark.parametrize("plan", GOING_ON, ids=lambda plan: plan.title)
def test_a_round_that_went_well_violates_nothing(plan: Plan) -> None:
    assert violations(a_good_round(plan)) == ()


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (doctored(KILLED_BEFORE, "evening", found=frozenset({"q_1", "q_2"})), "one key led to 2 questions"),
        (doctored(KILLED_BEFORE, "evening", notified=2), "somebody was notified 2 times"),
        (doctored(KILLED_BEFORE, "evening", ends=(-9, 0)), "the assistants ended with (-9, 0) and not by -9"),
        (doctored(KILLED_BEFORE, "evening", unchanged=False), "the question changed after those who asked were killed"),
        (
            doctored(KILLED_BEFORE, "evening", probe="TOKEN_MISMATCH"),
            "the token with a wrong answer got TOKEN_MISMATCH",
        ),
        (doctored(KILLED_BEFORE, "morning", race=(WINNER, WINNER, *LOSERS[1:])), "2 answers were accepted"),
        (doctored(KILLED_BEFORE, "morning", race=(told(0, "OVERLOADED"), *LOSERS)), "0 answers were accepted"),
        (doctored(KILLED_BEFORE, "morning", race=(WINNER, *LOSERS[1:])), "19 answers were given and not 20"),
        (
            doctored(KILLED_BEFORE, "morning", race=(dataclasses.replace(WINNER, replayed=True), *LOSERS)),
            "an answer was taken for a repeat",
        ),
        (
            doctored(KILLED_BEFORE, "morning", race=(WINNER, told(1, "OVERLOADED"), *LOSERS[1:])),
            "the other answers got {'OVERLOADED': 1, 'TOKEN_ALREADY_USED': 18}",
        ),
        (
            doctored(KILLED_BEFORE, "morning", race=(WINNER, *LOSERS[1:], told(1, "TOKEN_ALREADY_USED", status=None))),
            "the callers were told the statuses ['None', 'resumed']",
        ),
        (doctored(KILLED_BEFORE, "morning", repeats=()), "the accepted call was not repeated"),
        (
            doctored(KILLED_BEFORE, "morning", repeats=(REPEAT, told(0, envelope='{"x":1}', replayed=True))),
            "1 repeats did not get the recorded outcome",
        ),
        (
            doctored(KILLED_BEFORE, "morning", repeats=(WINNER, WINNER)),
            "2 repeats did not get the recorded outcome",
        ),
        (doctored(KILLED_BEFORE, "morning", other_body=WINNER), "the key with another answer got ACCEPTED"),
        (doctored(KILLED_BEFORE, "morning", wrong_token=WINNER), "a wrong token got ACCEPTED"),
        (
            doctored(KILLED_BEFORE, "going_on", holders=KILLED_AND_DONE[1:]),
            "the claim was held by (Holder(fence=2, end='done'),)",
        ),
        (
            doctored(KILLED_BEFORE, "going_on", notified=1),
            "somebody was notified 1 times of a question that was answered",
        ),
        (
            doctored(KILLED_CALLING, "going_on", doubt=None),
            "the booking's doubt was None and not EFFECT_UNKNOWN",
        ),
        (doctored(KILLED_CALLING, "going_on", settled="done"), "the booking was settled as done and not not_done"),
        (
            doctored(APPROVAL, "going_on", refusals={"arguments": "nothing"}),
            "refused was {'arguments': 'nothing'} and not {'arguments': 'ACTION_MISMATCH'}",
        ),
        (
            doctored(STOPPED, "going_on", refusals={}),
            "refused was {} and not {'outcome': 'LEASE_LOST', 'done': 'LEASE_LOST'}",
        ),
        (
            doctored(APPROVAL, "going_on", booked_early=1),
            "1 bookings were made for what was not approved",
        ),
        (doctored(KILLED_BEFORE, "aftermath", tickets=()), "the airline made 0 bookings"),
        (doctored(KILLED_BEFORE, "aftermath", tickets=("AZ0-1", "AZ0-2")), "the airline made 2 bookings"),
        (doctored(KILLED_BEFORE, "aftermath", tickets=("AZ0-2",)), "the recorded result is not the airline's ticket"),
        (doctored(KILLED_BEFORE, "aftermath", late="CLAIM_HELD"), "an assistant that came late got CLAIM_HELD"),
        (
            doctored(KILLED_BEFORE, "aftermath", late_result=None),
            "an assistant that came late was told another result",
        ),
        (doctored(KILLED_BEFORE, "aftermath", starts=2), "the ledger has 2 starts and not 1"),
        (dataclasses.replace(a_good_round(), broken="desk 1 was silent"), "it broke: desk 1 was silent"),
        (dataclasses.replace(a_good_round(), aftermath=None), "it did not reach its end"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"round {value.plan.number}",
)
def test_a_violated_expectation_is_named_and_makes_the_demo_fail(one: Round, sentence: str) -> None:
    named = f"round {one.plan.number}: {sentence}"
    report = a_report(a_good_round(), one)
    assert named in report.violations
    assert report.exit_code == 1
    assert report.to_json()["asItMustBe"] is False
    assert named in report.to_json()["violations"]


def test_the_verdict_names_what_is_not_as_it_must_be() -> None:
    verdict = printed(a_report(doctored(KILLED_BEFORE, "aftermath", starts=2)))
    assert verdict.endswith("NOT as it must be:\n  round 1: the ledger has 2 starts and not 1\n")


def test_the_verdict_of_rounds_that_went_well_counts_them() -> None:
    report = a_report(a_good_round(), a_good_round(KILLED_CALLING))
    assert report.exit_code == 0
    assert "All as it must be, in 1.5 s (seed 7):\n  40 answers to 2 questions, 2 accepted;\n" in printed(report)


def test_a_demo_that_ended_early_failed_although_no_round_did() -> None:
    report = a_report(trouble="it took longer than 30 s")
    assert report.exit_code == 1
    assert "NOT as it must be:\n  it took longer than 30 s\n" in printed(report)


def test_a_round_that_broke_at_once_still_has_its_line() -> None:
    text = printed(a_report(Round(plan=KILLED_BEFORE, broken="the twin ended")))
    assert KILLED_BEFORE.title in " ".join(text.split())
    assert "it broke: the twin ended" in text


def test_a_report_shows_no_token() -> None:
    report = a_report(a_good_round())
    assert TOKEN not in printed(report) + str(report.to_json()) + repr(report)


def test_a_demo_that_ran_no_round_failed() -> None:
    assert a_report().exit_code == 1
