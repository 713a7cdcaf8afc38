"""What was found, as a table to read and as JSON to keep."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from proofs.report import Report

_HEADINGS: Final = ("promise", "rounds", "counted", "expected", "measured", "ok")
_TO_THE_RIGHT: Final = frozenset({"rounds", "expected", "measured"})

Reports = Sequence[tuple[Report, float]]
"""Each with the seconds that it took."""


def table_of(reports: Reports) -> str:
    """Return all rows, proof by proof; a promise that goes on is written once."""
    rows = [row for report, seconds in reports for row in _rows(report, seconds)]
    widths = [max(len(row[place]) for row in [_HEADINGS, *rows]) for place in range(len(_HEADINGS))]
    lines = [_line(_HEADINGS, widths), "  ".join("─" * width for width in widths)]
    return "\n".join(lines + [_line(row, widths) for row in rows])


def json_of(reports: Reports) -> list[dict[str, Any]]:
    """Return the same, complete."""
    return [
        {
            "proof": report.proof,
            "seed": report.seed,
            "seconds": round(seconds, 1),
            "ok": report.ok,
            "counts": [
                {
                    "promise": count.promise,
                    "rounds": count.rounds,
                    "counted": count.counted,
                    "expected": str(count.expected),
                    "measured": count.measured,
                    "ok": count.ok,
                }
                for count in report.counts
            ],
            "failures": report.failures,
        }
        for report, seconds in reports
    ]


def _rows(report: Report, seconds: float) -> Iterator[tuple[str, ...]]:
    yield f"{report.proof.upper()}, seed {report.seed}, {seconds:.0f} s", "", "", "", "", ""
    before = ""
    for count in report.counts:
        is_new, before = count.promise != before, count.promise
        yield (
            f"  {count.promise}" if is_new else "",
            f"{count.rounds:,}" if is_new else "",
            count.counted,
            str(count.expected),
            f"{count.measured:,}",
            "yes" if count.ok else "NO",
        )
    if not report.counts:
        yield "", "", "it broke", "", "", "NO"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if heading in _TO_THE_RIGHT else cell.ljust(width)
        for cell, width, heading in zip(row, widths, _HEADINGS, strict=True)
    ]
    return "  ".join(cells).rstrip()
