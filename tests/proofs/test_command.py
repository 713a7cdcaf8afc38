"""A proof that finds something else than was expected is not passed over in silence."""

import json
from pathlib import Path

import pytest

from proofs import command
from proofs.report import NONE, SOME, Report, at_least, exactly


def finds(lost: int) -> command.Proof:
    def run(size: object, seed: int, lanes: int) -> Report:
        report = Report("invented", seed)
        report.count("nothing is lost", 10, "lost", lost, NONE)
        return report

    return command.Proof(run, {"quick": None, "short": None})


def breaks() -> command.Proof:
    def run(size: object, seed: int, lanes: int) -> Report:
        raise ValueError(seed)

    return command.Proof(run, {"quick": None, "short": None})


def test_what_is_as_expected_ends_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "PROOFS", {"invented": finds(0)})
    assert command.main(["--quick"]) == 0
    assert "NO" not in capsys.readouterr().out


@pytest.mark.parametrize("proof", [finds(1), breaks()])
def test_what_is_not_ends_with_1_and_names_its_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, proof: command.Proof
) -> None:
    monkeypatch.setattr(command, "PROOFS", {"first": proof, "second": finds(0)})
    assert command.main(["--seed", "4711", "--json", str(tmp_path / "found.json")]) == 1
    shown = capsys.readouterr()
    assert "4711" in shown.err
    assert "NO" in shown.out
    first, second = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (first["ok"], second["ok"]) == (False, True)
    assert "4711" in first["failures"][0]


def test_a_seed_is_drawn_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PROOFS", {"invented": finds(0)})
    command.main([])
    command.main([])
    first, second = [line for line in capsys.readouterr().out.splitlines() if line.startswith("invented, quick")]
    assert first != second


def test_expectations_admit_what_they_say() -> None:
    assert (exactly(2).admits(2), exactly(2).admits(3), str(exactly(2_000))) == (True, False, "2,000")
    assert (at_least(2).admits(1), at_least(2).admits(9), str(SOME)) == (False, True, "1 or more")


def test_of_very_many_failures_the_first_ones_are_kept() -> None:
    report = Report("invented", 1)
    report.fail(f"message {number}" for number in range(1_000))
    assert report.failures[0] == "invented, seed 1: message 0"
    assert len(report.failures) < 100
    assert not report.ok
