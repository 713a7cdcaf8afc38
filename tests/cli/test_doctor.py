"""The doctor finds what is not well with the machine, the place, the database and the settings, and says what to do."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

import pausemesh
from pausemesh.cli import health_of_machine
from pausemesh.cli.health import State
from pausemesh.cli.health_of_database import check_clock
from pausemesh.cli.health_of_machine import kind_of_disk
from pausemesh.testing.clock import ManualClock
from tests.cli.conftest import Run, ask
from tests.service.damaging import damage

ALL = ["sqlite", "settings", "file", "permissions", "disk", "space"]
ALL += ["schema", "durability", "integrity", "clock", "keys", "sweeper"]


class Usage(NamedTuple):
    """What the system says of a disk, as far as it is asked."""

    free: int


@pytest.fixture
def healthy(database: Path) -> Path:
    """A database with a question and a key, for its owner's eyes alone."""
    ask(database)
    with pausemesh.open_sync(database) as mesh:
        mesh.create_key("admin")
    return database


def states(run: Run, *words: str) -> dict[str, str]:
    return {check["name"]: check["state"] for check in run("doctor", "--json", *words).json["checks"]}


def about(run: Run, name: str, *words: str) -> dict[str, Any]:
    [found] = [check for check in run("doctor", "--json", *words).json["checks"] if check["name"] == name]
    return dict(found)


def test_where_all_is_well_every_check_is_ok(run: Run, healthy: Path) -> None:
    assert states(run) == dict.fromkeys(ALL, "ok")
    done = run("doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"{len(ALL)} ok."


def test_what_is_not_well_comes_with_what_to_do(run: Run, healthy: Path) -> None:
    healthy.chmod(0o644)
    done = run("doctor")
    assert done.code == 0
    assert done.out.splitlines()[-1] == f"{len(ALL) - 1} ok, 1 warn."
    assert f"chmod o-rwx {healthy}" in done.out.replace("\n", " ").replace("  ", "")


def test_nothing_is_made_where_there_is_no_database(run: Run, folder: Path) -> None:
    done = run("doctor", "--json")
    assert done.code == 9
    assert done.json["sound"] is False
    assert [check["name"] for check in done.json["checks"]] == ["sqlite", "settings", "file"]
    assert done.json["checks"][-1]["state"] == "fail"
    assert [*folder.iterdir()] == []


def test_a_folder_is_no_database(run: Run, database: Path) -> None:
    database.mkdir()
    assert about(run, "file")["text"].endswith("is no regular file.")


@pytest.mark.parametrize(
    ("refused", "words"),
    [(os.R_OK, "the file cannot be read"), (os.W_OK, "the file cannot be written, its folder cannot be written")],
)
def test_a_file_that_cannot_be_used_is_told(
    run: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch, refused: int, words: str
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & refused)
    check = about(run, "file")
    assert check["state"] == "fail"
    assert words in check["text"]


@pytest.mark.parametrize(("free", "state"), [(1, "fail"), (100 * 2**20, "warn"), (2**40, "ok")])
def test_a_disk_that_is_nearly_full_is_told(
    run: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(free))
    assert about(run, "space")["state"] == state


@pytest.mark.parametrize(("kind", "state"), [("ext4", "ok"), ("nfs4", "fail"), ("fuse.sshfs", "fail")])
def test_a_disk_that_is_not_local_is_told(
    run: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: str
) -> None:
    folder = healthy.parent
    mounts = folder / "mountinfo"
    mounts.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - xfs /dev/sda1 rw\n"
        f"23 22 0:5 / {folder} rw - {kind} somewhere rw\n"
        f"24 22 0:6 / {folder}/deeper rw - nfs elsewhere rw\n"
    )
    monkeypatch.setattr(health_of_machine, "MOUNTS", mounts)
    assert about(run, "disk")["state"] == state
    assert kind_of_disk(Path("/etc/passwd"), mounts) == "xfs"


def test_a_system_that_does_not_tell_its_disks_is_told_to_be_careful(
    run: Run, healthy: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_of_machine, "MOUNTS", folder / "nowhere")
    check = about(run, "disk")
    assert (check["state"], "must be a local one" in check["text"]) == ("ok", True)


def test_an_old_library_is_told(run: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    found = states(run)
    assert (found["sqlite"], found["durability"]) == ("fail", "fail")


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("DROP TRIGGER events_refuse_update", "schema"),
        ("DROP TRIGGER migrations_refuse_delete; DELETE FROM migrations", "schema"),
        ("DROP TRIGGER migrations_refuse_update; UPDATE migrations SET number = 999", "schema"),
        ("UPDATE heads SET open = CAST(x'ff' AS TEXT)", None),
    ],
)
def test_a_schema_that_is_not_ours_fails(run: Run, healthy: Path, sql: str, name: str | None) -> None:
    connection = apsw.Connection(str(healthy))
    if name is not None:
        connection.execute(sql)
    connection.close()
    found = states(run)
    assert found.get("schema") == ("ok" if name is None else "fail")


def test_a_file_that_is_no_database_fails(run: Run, healthy: Path) -> None:
    healthy.write_bytes(b"no database at all" * 100)
    assert about(run, "integrity")["state"] == "fail"


def test_an_event_that_was_removed_fails(run: Run, healthy: Path) -> None:
    damage(healthy, "DELETE FROM events WHERE stream LIKE 'continuation/%'")
    check = about(run, "integrity")
    assert (check["state"], "numbers were given" in check["text"]) == ("fail", True)


def test_a_log_that_cannot_be_read_fails(run: Run, healthy: Path) -> None:
    damage(healthy, "UPDATE events SET at = 9223372036854775807")
    checks = run("doctor", "--json").json["checks"]
    assert [(check["name"], check["state"]) for check in checks[-2:]] == [("integrity", "ok"), ("integrity", "fail")]


def test_a_database_whose_log_was_removed_while_in_use_fails(run: Run, healthy: Path) -> None:
    Path(f"{healthy}-shm").touch(mode=0o600)
    assert about(run, "open")["state"] == "fail"


def test_a_clock_that_is_behind_the_newest_event_fails(run: Run, database: Path) -> None:
    with pausemesh.open_sync(database, clock=ManualClock(datetime.now(UTC) + timedelta(days=1))) as mesh:
        mesh.create(payload="?")
    assert about(run, "clock")["state"] == "fail"


def test_a_clock_that_was_never_set_fails_and_one_that_is_right_is_ok() -> None:
    assert check_clock(datetime(1970, 1, 1, tzinfo=UTC), None).state is State.FAIL
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert check_clock(now, None).state is State.OK
    assert check_clock(now, now + timedelta(seconds=5)).state is State.OK
    assert check_clock(now, now + timedelta(seconds=6)).state is State.FAIL


def test_keys_are_asked_for_more_urgently_where_others_reach_the_server(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(database)
    assert about(run, "keys")["state"] == "warn"
    monkeypatch.setenv("PAUSEMESH_HOST", "0.0.0.0")  # noqa: S104 - what is warned of
    assert about(run, "keys")["state"] == "fail"
    with pausemesh.open_sync(database) as mesh:
        key = mesh.create_key("admin").key
        assert about(run, "keys")["state"] == "ok"
        mesh.revoke_key(key.id)
    check = about(run, "keys")
    assert (check["state"], "valid any more" in check["text"]) == ("warn", True)


def test_questions_open_long_past_their_deadline_are_told(run: Run, database: Path) -> None:
    with pausemesh.open_sync(database, clock=ManualClock(datetime.now(UTC) - timedelta(hours=1))) as mesh:
        mesh.create(payload="?", expires_in=timedelta(minutes=30))
    check = about(run, "sweeper")
    assert (check["state"], check["text"].split()[0]) == ("warn", "1")


def test_settings_that_stop_the_start_fail(run: Run, healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, said in (
        ("PAUSEMESH_PORT", "70000", "PAUSEMESH_PORT must be 0 to 65535"),
        ("PAUSEMESH_PORT", "x", "must be a whole number"),
        ("PAUSEMESH_SECRET_KEYS", "hush", "at least 32 characters"),
        ("PAUSEMESH_SECRET_KEYS_FILE", "hush", "PAUSEMESH_SECRET_KEYS_FILE cannot be read"),
        ("PAUSEMESH_CONFIG_PATH", "nowhere.toml", "must name a readable TOML file"),
        ("PAUSEMESH_DATABASE_URL", "postgresql://hush", "name two databases"),
        ("PAUSEMESH_DATABASE_URL", "hush", "PAUSEMESH_DATABASE_URL must be postgresql://"),
    ):
        with monkeypatch.context() as setting:
            setting.setenv(name, value)
            check = about(run, "settings", "--database-path", str(healthy))
            assert (check["state"], said in check["text"]) == ("fail", True), name
            assert "\n" not in check["text"]
            assert "hush" not in check["text"]


def test_a_secret_that_serve_would_make_is_not_made(run: Run, healthy: Path, folder: Path) -> None:
    before = {file.name for file in folder.iterdir()}
    assert states(run)["settings"] == "ok"
    assert {file.name for file in folder.iterdir()} == before
    Path(f"{healthy}.secret").write_text("short")
    assert states(run)["settings"] == "fail"


def test_the_database_is_the_one_that_the_settings_name(
    run: Run, healthy: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAUSEMESH_DATABASE_PATH")
    (folder / "pausemesh.toml").write_text(f'database_path = "{healthy}"\n')
    monkeypatch.setenv("PAUSEMESH_CONFIG_PATH", "pausemesh.toml")
    assert str(healthy) in about(run, "file")["text"]
    monkeypatch.setenv("PAUSEMESH_DATABASE_PATH", ":memory:")
    assert about(run, "file")["state"] == "warn"
    monkeypatch.setenv("PAUSEMESH_DATABASE_PATH", "")
    assert states(run) == {"sqlite": "ok", "settings": "fail"}
