"""The commands of the pages on checking and on backups do what the pages say, while others use the database."""

import re
import shutil
import threading
from pathlib import Path

import pytest

import pausemesh
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.upkeep import FLAWS
from pausemesh.service.findings import MENDABLE
from tests.docs.pages import HOWTO, blocks, shell
from tests.service.damaging import damage

FLAW_ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (yes|no) \|$", re.MULTILINE)
EXIT_ROW = re.compile(r"^\| (\d+) \|", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    with pausemesh.open_sync(tmp_path / "data" / "pausemesh.db") as mesh:
        mesh.create(payload="?", continuation_id="before")
    return tmp_path


def ids(path: Path) -> set[str]:
    found: set[str] = set()
    with pausemesh.open_sync(path) as mesh:
        page = mesh.list(limit=200)
        found.update(one.id for one in page.continuations)
        while page.next_cursor is not None:
            page = mesh.list(limit=200, cursor=page.next_cursor)
            found.update(one.id for one in page.continuations)
    return found


def test_a_copy_that_is_made_while_others_write_is_whole_and_can_be_restored(folder: Path) -> None:
    copy, check, _, restore = blocks("back-up.md")
    database = folder / "data" / "pausemesh.db"
    enough = threading.Event()

    def go_on() -> None:
        with pausemesh.open_sync(database) as mesh:
            while not enough.is_set():
                mesh.create(payload="?")

    writing = threading.Thread(target=go_on)
    with pausemesh.open_sync(database) as mesh:
        writing.start()
        done = shell(copy + check, folder)
        enough.set()
        writing.join()
        mesh.create(payload="?", continuation_id="after")
    assert (done.returncode, done.stderr) == (0, "")
    assert "All is well." in done.stdout
    kept = ids(folder / "backup.db")
    assert "before" in kept
    assert "after" not in kept
    Path(f"{database}-wal").write_bytes(b"of before")
    done = shell(restore, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert ids(database) == kept
    assert (folder / "backup.db").stat().st_mode & 0o777 == database.stat().st_mode & 0o777 == 0o600
    assert "after" in ids(folder / "set-aside" / "pausemesh.db")


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 here")
def test_the_copies_of_sqlites_own_command_are_whole(folder: Path) -> None:
    _, _, copies, _ = blocks("back-up.md")
    done = shell(copies, folder)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("copy.db", "small.db"):
        done = shell(f"pausemesh verify --database-path {name}", folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert ids(folder / name) == {"before"}


def test_the_checks_find_damage_and_the_repair_mends_it(folder: Path) -> None:
    doctor, verify, rebuild = blocks("check-and-repair.md")
    assert [shell(block, folder).returncode for block in (doctor, verify)] == [Exit.FINE, Exit.FINE]
    damage(folder / "data" / "pausemesh.db", "UPDATE heads SET status = 'x'")
    assert [shell(block, folder).returncode for block in (verify, rebuild, verify)] == [Exit.UNSOUND, 0, 0]
    assert shell(verify, folder / "data").returncode == Exit.UNAVAILABLE


def test_the_page_lists_every_flaw_and_the_exit_codes() -> None:
    page = (HOWTO / "check-and-repair.md").read_text(encoding="utf-8")
    assert FLAW_ROW.findall(page) == [
        (flaw.value, text, "yes" if flaw in MENDABLE else "no") for flaw, text in FLAWS.items()
    ]
    assert {int(code) for code in EXIT_ROW.findall(page)} <= {*Exit}
