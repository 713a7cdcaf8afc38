"""A server whose disk is full, slow, or does not let it write: told as what it is, and over without a restart."""

import contextlib
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from pausemesh.server.settings import Parser
from tests.server.harness import RunningServer
from tests.server.served import Served

CONTINUATIONS = "/v1/continuations"
BIG = {"payload": "a" * 60_000}
KEYS = [f"k{number}" for number in range(12)]
SMALL_DISK = 'mount -t tmpfs -o size=1m tmpfs "$DISK" && exec "$@"'
UNAVAILABLE = {(503, "STORE_UNAVAILABLE"), (503, "OUTCOME_UNKNOWN")}


def can_mount() -> bool:
    """Tell whether a disk of our own can be had."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return tried.returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="no disk can be mounted here")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="a limit is put upon another process")


def limit(served: Served, more: int) -> None:
    """Let no file of the server's grow by more than so many bytes, from now on; negative: without an end."""
    size = served.database.with_name("q.db-wal").stat().st_size
    most = resource.RLIM_INFINITY if more < 0 else size + more
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


@needs_mount
def test_a_full_disk_is_507_and_everything_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    launcher = ("unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", sys.executable, "-m", "pausemesh")
    with (
        Served(tmp_path, launcher=launcher, database=disk / "q.db", DISK=str(disk)) as served,
        served.client() as client,
    ):
        created = client.ask()
        filler = Path(f"/proc/{served.process.pid}/root{disk}/filler")
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            file.write(b"a" * 600_000)
        told = [client.post(CONTINUATIONS, BIG, key=key) for key in KEYS]
        assert {reply.status for reply in told} == {201, 507}
        assert {reply.outcome for reply in told if reply.status != 201} == {(507, "STORE_FULL")}
        assert client.resume(created, "AZ1").status in {200, 507}
        assert client.get("/healthz").status == 200
        filler.unlink()
        first_refused = next(index for index, reply in enumerate(told) if reply.status == 507)
        assert client.post(CONTINUATIONS, BIG, key=KEYS[first_refused]).status == 201
        assert client.post(CONTINUATIONS, BIG, key=KEYS[0]).json["continuation"] == told[0].json["continuation"]
        assert client.resume(created, "AZ1").status == 200
        assert served.signal().wait() == 0


@needs_linux
def test_a_disk_that_takes_no_more_takes_everything_later(tmp_path: Path) -> None:
    with Served(tmp_path) as served, served.client() as client:
        created = client.ask()
        limit(served, 100_000)
        told = [client.post(CONTINUATIONS, BIG, key=key) for key in KEYS]
        assert {reply.outcome for reply in told if reply.status != 201} <= UNAVAILABLE
        assert {reply.status for reply in told} == {201, 503}
        path = f"{CONTINUATIONS}/{created['continuation']['continuationId']}"
        assert client.get(path).json["continuation"]["status"] == "pending"
        limit(served, -1)
        again = [client.post(CONTINUATIONS, BIG, key=key) for key in KEYS]
        for was, now in zip(told, again, strict=True):
            assert now.status == 200 if was.status == 201 else now.status in {200, 201}
        assert client.resume(created, "AZ1").json["replayed"] is False
        assert served.signal().wait() == 0
        assert served.leftovers == []


@needs_linux
def test_what_was_acknowledged_beside_a_disk_that_takes_no_more_outlives_a_kill(tmp_path: Path) -> None:
    with Served(tmp_path) as served, served.client() as client:
        client.ask()
        limit(served, 300_000)
        told = [client.post(CONTINUATIONS, BIG, key=key) for key in KEYS]
        assert {reply.status for reply in told} == {201, 503}
        served.kill()
    with Served(tmp_path) as served, served.client() as client:
        for key, was in zip(KEYS, told, strict=True):
            now = client.post(CONTINUATIONS, BIG, key=key)
            assert now.status == 200 if was.status == 201 else now.status in {200, 201}


def test_a_disk_that_is_too_slow_is_503_and_later_serves_again(parser: Parser, tmp_path: Path) -> None:
    database = tmp_path / "q.db"
    with RunningServer(parser=parser, database=database, call_seconds=0.2) as server, server.client("editor") as editor:
        created, before = editor.ask(), server.last_seq
        with contextlib.closing(apsw.Connection(str(database))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            assert editor.resume(created, 1).outcome in UNAVAILABLE
            path = f"{CONTINUATIONS}/{created['continuation']['continuationId']}"
            assert editor.get(path).json["continuation"]["status"] == "pending"
            assert editor.get("/healthz").status == 200
            connection.execute("ROLLBACK")
        assert server.last_seq == before
        assert editor.resume(created, 1).json["replayed"] is False
