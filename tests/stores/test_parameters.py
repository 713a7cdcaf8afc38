"""What a store can be opened with: everything else is refused at once, by an error with a type."""

import os
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from pausemesh.core.errors import InvalidRequest, PauseMeshError, StoreUnavailable
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock

_DEEP: Final[list[Any]] = []
for _ in range(3_000):
    _DEEP[:] = [list(_DEEP)]

_NO_PATHS: Final[list[Any]] = [None, 7, 1.5, b"mesh.db", True, ["mesh.db"], _DEEP, object()]
_NO_COUNTS: Final[list[Any]] = [0, -1, True, 1.5, "2", None, 2**64, _DEEP]
_NO_SECONDS: Final[list[Any]] = [0, -1, float("nan"), float("inf"), "10", True, None, 10**400, _DEEP]


class BytesPath:
    """A path of bytes in a path-like."""

    def __fspath__(self) -> bytes:
        return b"mesh.db"


async def refusal_of(path: Any, clock: Any, **parameters: Any) -> type[PauseMeshError]:
    """Open a store that surely is refused, and leaves no thread behind."""
    before = set(threading.enumerate())
    with pytest.raises(PauseMeshError) as raised:
        await SqliteEventStore.open(path, clock, **parameters)
    assert set(threading.enumerate()) == before
    return raised.type


@pytest.mark.parametrize("path", [*_NO_PATHS, BytesPath()], ids=range(len(_NO_PATHS) + 1))
async def test_what_is_no_path_is_an_invalid_request(clock: ManualClock, path: Any) -> None:
    assert await refusal_of(path, clock) is InvalidRequest


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("readers", [*_NO_COUNTS, 65]),
        ("max_events_per_stream", _NO_COUNTS),
        ("call_seconds", _NO_SECONDS),
        ("fault", [7, "x"]),
    ],
)
async def test_what_is_no_number_is_an_invalid_request(
    path: Path, clock: ManualClock, name: str, values: list[Any]
) -> None:
    for value in values:
        assert await refusal_of(path, clock, **{name: value}) is InvalidRequest
    assert not path.exists()


async def test_a_clock_must_be_able_to_tell_the_time(path: Path) -> None:
    for clock in (None, 7, object(), "now"):
        assert await refusal_of(path, clock) is InvalidRequest
        with pytest.raises(InvalidRequest):
            MemoryEventStore(clock)  # type: ignore[arg-type]


def test_a_memory_store_takes_only_what_it_can_use(clock: ManualClock) -> None:
    for count in _NO_COUNTS:
        with pytest.raises(InvalidRequest):
            MemoryEventStore(clock, max_events_per_stream=count)
    with pytest.raises(InvalidRequest):
        MemoryEventStore(clock, fault=7)  # type: ignore[arg-type]


async def test_where_nothing_can_be_opened_the_store_is_unavailable_at_once(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to_fifo").symlink_to(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    names = [
        "loop",
        "loop/mesh.db",
        "fifo",
        "to_fifo",
        "folder",
        "nul\0",
        "\ud800.db",
        "\udcff.db",
        "x" * 300,
        "x/" * 3_000,
    ]
    for bad in [*(f"{tmp_path}/{name}" for name in names), "/dev/null", "/proc/none/mesh.db", "/proc/mesh.db"]:
        assert await refusal_of(bad, clock) is StoreUnavailable, bad


async def test_a_link_to_a_file_opens_that_file(tmp_path: Path, path: Path, clock: ManualClock) -> None:
    (tmp_path / "link").symlink_to(path)
    store = await SqliteEventStore.open(tmp_path / "link", clock)
    assert path.exists()
    await store.close()
