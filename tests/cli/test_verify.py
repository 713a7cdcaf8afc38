"""A database is checked from a terminal; the exit code says whether all is well."""

import asyncio
from pathlib import Path

import pytest

import pausemesh
from pausemesh.cli.upkeep import FLAWS
from pausemesh.service.findings import Flaw
from pausemesh.testing.clock import ManualClock
from tests.cli.conftest import Run, ask
from tests.service.damaging import damage, live, on_event, on_head, without_events


@pytest.fixture
def lived(database: Path) -> Path:
    """A database in which everything has happened."""

    async def fill() -> None:
        clock = ManualClock()
        async with pausemesh.open(database, clock=clock) as mesh:
            await live(mesh, clock)

    asyncio.run(fill())
    return database


def test_a_sound_database_is_said_to_be_well(run: Run, lived: Path) -> None:
    done = run("verify")
    assert (done.code, done.err) == (0, "")
    assert " ".join(done.out.split()) == (
        f"Checked {lived}: 10 questions, 1 finished claim, 4 effects, 2 API keys; 31 events. All is well."
    )


def test_a_sound_database_as_json(run: Run, lived: Path, folder: Path) -> None:
    done = run("verify", "--json", "--database-path", str(lived.relative_to(folder)))
    assert done.code == 0
    assert done.json == {
        "sound": True,
        "streams": {"continuation": 10, "claim": 1, "effect": 4, "key": 2},
        "events": 31,
        "lastSeq": 31,
        "found": 0,
        "findings": [],
    }


def test_damage_is_shown_with_what_can_be_done_about_it(run: Run, lived: Path) -> None:
    damage(lived, on_head("held", "status = 'x'"))
    done = run("verify")
    assert done.code == 9
    assert "continuation/held" in done.out
    assert ": status" in done.out
    assert "pausemesh rebuild" in done.out
    assert "backup" not in done.out
    damage(lived, without_events("pending", "version = 2"))
    done = run("verify")
    assert done.code == 9
    assert "(the whole)" in done.out
    assert "backup" in done.out


def test_damage_as_json_names_places_and_what_can_be_mended(run: Run, lived: Path) -> None:
    damage(lived, on_head("held", "status = 'x'") + on_event("done", 2, "data = x'00'"))
    done = run("verify", "--json")
    assert done.code == 9
    assert done.json["found"] == len(done.json["findings"])
    assert {
        "flaw": "head",
        "mendable": True,
        "scope": "default",
        "stream": "continuation/held",
        "detail": "status",
    } in done.json["findings"]
    assert {
        "flaw": "unreadable",
        "mendable": False,
        "scope": "default",
        "stream": "continuation/done",
        "version": 2,
    } in done.json["findings"]


def test_a_name_from_a_damaged_database_cannot_attack_a_terminal(run: Run, lived: Path) -> None:
    damage(lived, on_head("held", "scope = 'x' || char(27) || '[2J', stream = 'y' || char(8238)"))
    done = run("verify")
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert r"x\x1b[2J: y\u202e" in done.out


def test_more_findings_than_are_listed_are_counted(run: Run, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ask(database)
    damage(database, "UPDATE heads SET status = 'x'")
    monkeypatch.setattr("pausemesh.core.limits.FINDINGS", 1)
    assert "2 findings more." in run("verify").out


@pytest.mark.parametrize("command", ["verify", "rebuild"])
def test_a_database_that_is_not_there_is_not_made(run: Run, folder: Path, command: str) -> None:
    done = run(command)
    assert (done.code, done.out, done.err.count("\n")) == (7, "", 1)
    assert "data/pausemesh.db" in done.err
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("command", ["verify", "rebuild"])
@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_a_file_that_is_no_database_of_ours_stays_as_it_is(
    run: Run, database: Path, command: str, content: bytes
) -> None:
    database.write_bytes(content)
    done = run(command, "--json")
    assert done.code == 7
    assert done.problem["code"] in {"SCHEMA_MISSING", "STORE_CORRUPT"}
    assert database.read_bytes() == content


def test_every_flaw_has_its_words() -> None:
    assert set(FLAWS) == set(Flaw)
    assert max(map(len, FLAWS.values())) <= 80
