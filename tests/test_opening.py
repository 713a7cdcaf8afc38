"""Opening: what a mesh can be opened on, what is refused at once, and what is left behind where it cannot be opened."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.ports import EventStore


class OwnPath:
    """Not a ``Path``, but a path all the same."""

    def __init__(self, path: object) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


class HalfAStore:
    """It can append and not load."""

    async def append(self) -> None:
        """Do nothing."""


REFUSED = [
    (None, "must be"),
    (5, "must be"),
    (b"memory:", "must be"),
    (["memory:"], "must be"),
    (HalfAStore(), "must be"),
    (pausemesh.MemoryEventStore, "must be"),
    ("", "must be"),
    ("trips.db", "must be sqlite:///path, memory:, postgresql:.* a Path"),
    (":memory:", "must be sqlite:///path, memory:"),
    ("memory", "must be"),
    ("mysql://x", "must be"),
    ("postgresql://ana:sesame@host:port/db", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@host:1,other:x/db", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@host/db?sesame=1", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@host/db?connect_timeout=sesame", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@[host/db", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame%00@host/db", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@host/d\0b", "must be postgresql://user@host:port/database"),
    ("postgresql://ana:sesame@host/d\ud800b", "must be postgresql://user@host:port/database"),
    ("postgres:sesame", "must be postgresql://user@host:port/database"),
    ("Postgres://host", "must be postgresql://user@host:port/database"),
    ("sqlite:", "must be sqlite:///relative.db or sqlite:////absolute.db"),
    ("sqlite:/x", "must be sqlite:///relative.db or sqlite:////absolute.db"),
    ("sqlite://x", "must be sqlite:///relative.db or sqlite:////absolute.db"),
    ("sqlite:///", "must be sqlite:///relative.db or sqlite:////absolute.db"),
    ("sqlite:///x.db?mode=ro", "without [?] and #"),
    ("sqlite:///:memory:", "memory: keeps everything in memory"),
    ("sqlite:///a\0b", "U[+]0000"),
    ("sqlite:///a\ud800b", "lone surrogates"),
    (Path("a\0b"), "U[+]0000"),
    (Path(":memory:"), "memory: keeps everything in memory"),
    (OwnPath(""), "must name a file"),
    (OwnPath(b"x.db"), "must name a file"),
]


@pytest.mark.parametrize("open_it", [pausemesh.open, pausemesh.open_sync])
@pytest.mark.parametrize(("target", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_target_that_is_none_is_refused_at_once_and_not_repeated(open_it: Any, target: object, message: str) -> None:
    with pytest.raises(pausemesh.InvalidRequest, match=message) as refused:
        open_it(target)
    assert [issue.path for issue in refused.value.issues] == ["/target"]
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("open_it", [pausemesh.open, pausemesh.open_sync])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schema", None),
        ("schema", "elsewhere"),
        ("scope", None),
        ("scope", 5),
        ("scope", ""),
        ("scope", " a"),
        ("policy", 5),
        ("policy", {}),
        ("policy", pausemesh.Policy),
        ("observer", 5),
        ("observer", print),
        ("observer", pausemesh.NoopObserver),
        ("clock", time),
        ("clock", 0),
        ("clock", pausemesh.SystemClock),
        ("cipher", 5),
        ("cipher", ""),
    ],
)
def test_an_argument_of_another_type_is_refused_at_once_by_its_name(open_it: Any, name: str, value: object) -> None:
    with pytest.raises(pausemesh.InvalidRequest) as refused:
        open_it("memory:", **{name: value})
    assert [issue.path for issue in refused.value.issues] == [f"/{name}"]


@pytest.mark.parametrize("open_it", [pausemesh.open, pausemesh.open_sync])
@pytest.mark.parametrize("target", ["memory:", "postgresql://host/db"])
def test_a_schema_whose_name_is_not_safe_is_refused_at_once(open_it: Any, target: str) -> None:
    with pytest.raises(pausemesh.InvalidRequest, match="schema's name must have"):
        open_it(target, schema='mesh"; DROP SCHEMA public; --')


@pytest.mark.parametrize("absent", ["psycopg", "psycopg_pool"])
def test_an_address_of_postgresql_without_its_driver_says_what_to_install(tmp_path: Path, absent: str) -> None:
    program = f"""
import sys
sys.modules[{absent!r}] = None
import pausemesh
for target in ("memory:", "sqlite:///{tmp_path}/a.db"):
    with pausemesh.open_sync(target):
        pass
try:
    pausemesh.open("postgresql://ana:sesame@host/db")
except pausemesh.InvalidRequest as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'pausemesh[postgres]'" in said
    assert "sesame" not in said


def test_what_an_object_lacks_is_said() -> None:
    class Sealing:
        def seal(self) -> None: ...

    cipher: Any = Sealing()
    with pytest.raises(pausemesh.InvalidRequest, match="must be an object with unseal"):
        pausemesh.open("memory:", cipher=cipher)


def test_a_file_is_named_by_a_url_or_by_a_path(tmp_path: Path) -> None:
    path = tmp_path / "what? a #1 mesh.db"
    with pausemesh.open_sync(path) as mesh:
        asked = mesh.create(payload="?").continuation
    for target in (path, OwnPath(str(path))):
        with pausemesh.open_sync(target) as mesh:
            assert mesh.inspect(asked.id) == asked
    with pausemesh.open_sync(f"sqlite:///{tmp_path / 'plain.db'}") as mesh:
        assert mesh.list().continuations == ()
    assert {file.name for file in tmp_path.glob("*.db")} == {path.name, "plain.db"}


async def test_a_store_of_the_hosts_own_may_be_a_wrapper_and_stays_open() -> None:
    class Wrapper:
        def __init__(self, store: EventStore) -> None:
            self.store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

    store: Any = Wrapper(pausemesh.MemoryEventStore(pausemesh.SystemClock()))
    async with pausemesh.open(store) as mesh:
        asked = await mesh.create(payload="?")
    async with pausemesh.open(store) as mesh:
        assert (await mesh.inspect(asked.continuation.id)).status == "pending"


async def test_an_opening_is_entered_once_at_a_time_and_left_once_each_time() -> None:
    opening = pausemesh.open("memory:")
    with pytest.raises(pausemesh.InvalidRequest, match="not open"):
        await opening.__aexit__(None, None, None)
    for _ in range(2):
        async with opening as mesh:
            with pytest.raises(pausemesh.InvalidRequest, match="open already"):
                await opening.__aenter__()
            assert (await mesh.list()).continuations == ()
            await mesh.create(payload="?")
        with pytest.raises(pausemesh.InvalidRequest, match="not open"):
            await opening.__aexit__(None, None, None)
        with pytest.raises(pausemesh.StoreClosed):
            await mesh.create(payload="?")


def test_a_blocking_opening_is_entered_once_at_a_time_and_left_once_each_time() -> None:
    opening = pausemesh.open_sync("memory:")
    with pytest.raises(pausemesh.InvalidRequest, match="not open"):
        opening.__exit__(None, None, None)
    for _ in range(2):
        with opening as mesh:
            with pytest.raises(pausemesh.InvalidRequest, match="open already"):
                opening.__enter__()
            assert mesh.list().continuations == ()
            mesh.create(payload="?")
        with pytest.raises(pausemesh.InvalidRequest, match="not open"):
            opening.__exit__(None, None, None)
        with pytest.raises(pausemesh.StoreClosed):
            mesh.create(payload="?")


async def test_an_opening_that_failed_can_be_entered_again(tmp_path: Path) -> None:
    (tmp_path / "mesh.db").mkdir()
    opening = pausemesh.open(tmp_path / "mesh.db")
    with pytest.raises(pausemesh.StoreError):
        await opening.__aenter__()
    (tmp_path / "mesh.db").rmdir()
    async with opening as mesh:
        assert (await mesh.create(payload="?")).continuation.status == "pending"


UNOPENED = """
import gc, os, pathlib, threading
import pausemesh

pathlib.Path("no.db").write_text("no database at all, " * 300)
pathlib.Path("folder.db").mkdir()
descriptors = "/proc/self/fd"
first = None
for _ in range(3):
    for name in ("no.db", "folder.db", "no.db/x.db", "x" * 5000):
        try:
            with pausemesh.open_sync(pathlib.Path(name)):
                print("opened", name)
        except pausemesh.PauseMeshError:
            pass
    gc.collect()
    left = threading.active_count(), len(os.listdir(descriptors)) if os.path.isdir(descriptors) else 0
    first = first or left
print(threading.active_count(), left == first)
"""


def test_a_mesh_that_cannot_be_opened_leaves_no_thread_no_file_and_no_warning(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", UNOPENED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [line for line in ended.stderr.splitlines() if not line.startswith("Executing ")]  # a slow machine
    assert (ended.returncode, said, ended.stdout) == (0, [], "1 True\n")
