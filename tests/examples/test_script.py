"""The script asks, and publishes once, whenever it is killed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import pausemesh
from tests.examples.running import EXAMPLES, Programs, ended, eventually, kill, lines

ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)
IMPATIENT = """
import asyncio, datetime, script
script.LEASE = datetime.timedelta(seconds=1)
print(asyncio.run(script.main("v1.4")))
"""
DYING = """
import os, signal, script
publish = script.publish
script.publish = lambda version: (publish(version), os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    return tmp_path / "releases.txt"


def script(programs: Programs) -> subprocess.Popen[str]:
    """Start it with a short lease, so that a successor need not wait."""
    return programs.start("-c", IMPATIENT)


def question(folder: Path) -> str:
    """Its one open question, as soon as it is asked."""

    def look() -> str | None:
        if not (folder / "releases.db").exists():
            return None
        with pausemesh.open_sync(folder / "releases.db") as mesh:
            [*found] = mesh.list(status="pending").continuations
        assert len(found) <= 1
        return found[0].id if found else None

    return eventually(look)


def answer(folder: Path, payload: dict[str, bool]) -> str:
    """Answer it from elsewhere."""
    noun_id = question(folder)
    with pausemesh.open_sync(folder / "releases.db") as mesh:
        mesh.answer(noun_id, by=ANA, idempotency_key="ana-1", payload=payload)
    return noun_id


def effects(folder: Path, noun_id: str) -> list[tuple[str, int]]:
    with pausemesh.open_sync(folder / "releases.db") as mesh:
        return [(effect.status, effect.attempts) for effect in mesh.effects(noun_id)]


def test_what_is_approved_is_published_once_however_often_it_runs(programs: Programs, releases: Path) -> None:
    waiting = [programs.start(str(EXAMPLES / "script.py"), "v1.4") for _ in range(2)]
    answer(programs.folder, {"approved": True})
    printed = sorted(ended(process)[1].splitlines()[-1] for process in waiting)
    assert printed == ["settled by an earlier run: {'published': 'v1.4'}", "v1.4 is published"]
    assert ended(script(programs))[1] == "settled by an earlier run: {'published': 'v1.4'}\n"
    assert lines(releases) == ["v1.4"]


def test_what_is_declined_is_not_published(programs: Programs, releases: Path) -> None:
    asking = script(programs)
    answer(programs.folder, {"approved": False})
    assert ended(asking)[1].endswith("v1.4 was not approved\n")
    assert lines(releases) == []


def test_one_that_is_killed_while_it_waits_finds_its_question_again(programs: Programs, releases: Path) -> None:
    asking = script(programs)
    asked = question(programs.folder)
    kill(asking)
    assert answer(programs.folder, {"approved": True}) == asked
    assert ended(script(programs))[:2] == (0, "v1.4 is published\n")
    assert lines(releases) == ["v1.4"]


def test_one_that_is_killed_just_before_it_happens_is_made_up_for(programs: Programs, releases: Path) -> None:
    os.mkfifo(releases)  # whoever opens it to write waits for a reader
    asking = script(programs)
    noun_id = answer(programs.folder, {"approved": True})
    eventually(lambda: effects(programs.folder, noun_id))
    kill(asking)
    releases.unlink()
    assert ended(script(programs))[:2] == (0, "v1.4 is published\n")
    assert lines(releases) == ["v1.4"]
    assert effects(programs.folder, noun_id) == [("completed", 2)]


def test_one_that_is_killed_just_after_it_happened_does_not_repeat_it(programs: Programs, releases: Path) -> None:
    asking = programs.start("-c", DYING + IMPATIENT)
    noun_id = answer(programs.folder, {"approved": True})
    assert ended(asking)[0] == -signal.SIGKILL
    assert lines(releases) == ["v1.4"]
    assert ended(script(programs))[:2] == (0, "v1.4 is published\n")
    assert lines(releases) == ["v1.4"]
    assert effects(programs.folder, noun_id) == [("completed", 1)]
