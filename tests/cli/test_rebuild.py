"""Heads are mended from a terminal; a dry run tells what would be done."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run, ask
from tests.service.damaging import damage, on_event, without_events


def test_nothing_is_written_where_nothing_is_wrong(run: Run, database: Path) -> None:
    ask(database)
    done = run("rebuild")
    assert (done.code, done.out) == (0, "Nothing to write.\n")
    assert run("rebuild", "--dry-run").out == "Nothing to write.\n"


def test_a_dry_run_tells_and_changes_nothing(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    damage(database, "UPDATE heads SET status = 'x'")
    for _ in range(2):
        done = run("rebuild", "--dry-run")
        assert done.code == 9
        assert done.out == f"1 head would be written anew; nothing was changed.\n  continuation/{noun_id}\n"


def test_damaged_heads_are_written_anew(run: Run, database: Path) -> None:
    ids = sorted(ask(database).continuation.id for _ in range(2))
    damage(database, "DELETE FROM heads")
    done = run("rebuild")
    assert done.code == 0
    assert done.out.splitlines() == ["2 heads written anew.", *[f"  continuation/{noun_id}" for noun_id in ids]]
    assert run("verify").code == 0


def test_what_was_mended_as_json(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    damage(database, "UPDATE heads SET status = 'x'")
    done = run("rebuild", "--json")
    assert done.code == 0
    assert done.json == {
        "sound": True,
        "dryRun": False,
        "heads": 1,
        "mended": [{"scope": "default", "stream": f"continuation/{noun_id}"}],
        "overtaken": 0,
        "remains": 0,
        "remaining": [],
    }


def test_what_cannot_be_mended_is_shown(run: Run, database: Path) -> None:
    noun_id = ask(database).continuation.id
    damage(database, on_event(noun_id, 1, "data = x'00'"))
    done = run("rebuild")
    assert done.code == 9
    assert "unreadable" in done.out
    assert "backup" in done.out
    found = run("rebuild", "--json").json
    assert found["remaining"] == [
        {"flaw": "unreadable", "scope": "default", "stream": f"continuation/{noun_id}", "version": 1}
    ]


def test_a_lost_head_beside_lost_events_is_not_guessed(run: Run, database: Path) -> None:
    one, other = (ask(database).continuation.id for _ in range(2))
    damage(database, without_events(one))
    damage(database, "DELETE FROM heads")
    done = run("rebuild", "--json")
    assert done.code == 9
    assert [finding["flaw"] for finding in done.json["remaining"]] == ["medium", "head_missing"]
    assert done.json["remaining"][1]["stream"] == f"continuation/{other}"


def test_more_heads_than_are_listed_are_counted(run: Run, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ask(database)
    damage(database, "UPDATE heads SET status = 'x'")
    monkeypatch.setattr("pausemesh.core.limits.FINDINGS", 1)
    assert run("rebuild").out.splitlines()[-1] == "  and 2 more"
