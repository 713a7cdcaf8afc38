"""A mesh on every store that is here, with a clock that is moved and an observer that keeps notes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import pausemesh
from pausemesh.ports import EventStore, Observation
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock

ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)
BEN = pausemesh.Principal(id="ben", role=pausemesh.Role.EDITOR)
BOT = pausemesh.Principal(id="bot", role=pausemesh.Role.AGENT)
ROOT = pausemesh.Principal(id="root", role=pausemesh.Role.ADMIN)
EYE = pausemesh.Principal(id="eye", role=pausemesh.Role.VIEWER)
POST = pausemesh.Principal(id="post", role=pausemesh.Role.MESSENGER)
STRANGER = pausemesh.Principal(id="ana", role=pausemesh.Role.ADMIN, scope="elsewhere")


class Notes:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def observe(self, observation: Observation) -> None:
        self.seen.append(observation)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, clock: ManualClock, tmp_path: Path) -> AsyncIterator[EventStore]:
    opened: EventStore
    if request.param == "memory":
        opened = pausemesh.MemoryEventStore(clock)
    else:
        opened = await pausemesh.SqliteEventStore.open(tmp_path / "mesh.db", clock)
    yield opened
    await opened.close()


@pytest.fixture
async def mesh(store: EventStore, clock: ManualClock, notes: Notes) -> AsyncIterator[Mesh]:
    async with pausemesh.open(store, clock=clock, observer=notes) as opened:
        yield opened


@pytest.fixture
async def replica(store: EventStore, clock: ManualClock) -> AsyncIterator[Mesh]:
    """A second mesh on the same store, with caches of its own."""
    async with pausemesh.open(store, clock=clock) as opened:
        yield opened
