"""What must be true whatever happens between clients and the disk."""

from collections import Counter
from typing import Final

from proofs.report import ANY, NONE, SOME, Expected, Report

_MANY: Final = 10


def count_truths(report: Report, rounds: int, counted: Counter[str]) -> None:
    """Count what holds whatever happens between clients and the disk."""
    promise = "no client is told a lie"
    report.count(promise, rounds, "answers OUTCOME_UNKNOWN", counted["in doubt"], some_in_many(rounds))
    report.count(promise, rounds, "requests without a definite answer at last", counted["unsettled"], NONE)
    report.count(promise, rounds, "lies", counted["lies"], NONE)
    report.count(promise, rounds, "refused without a reason", counted["astray"], NONE)
    report.count("a retry is told the first answer", rounds, "answers repeated", counted["retried answers"], SOME)
    report.count("a retry is told the first answer", rounds, "differing", counted["differing"], NONE)
    promise = "one answer counts, one runs"
    report.count(promise, rounds, "questions decided twice", counted["second answers"], NONE)
    report.count(promise, rounds, "effects that two were told to run", counted["second starts"], NONE)
    report.count("all is whole and nothing stuck", rounds, "schemas that are not whole", counted["not whole"], NONE)
    report.count("all is whole and nothing stuck", rounds, "things stuck", counted["stuck"], NONE)


def some_in_many(rounds: int) -> Expected:
    """Expect at least one, where there are rounds enough for that."""
    return SOME if rounds >= _MANY else ANY
