"""Servers that a module's tests share, and clients of every role."""

from collections.abc import Iterator

import pytest

from pausemesh.server.settings import Parser
from pausemesh.telemetry.log import configure_log
from tests.server.harness import Client, RunningServer
from tests.telemetry.conftest import Lines


@pytest.fixture(scope="module", params=["httptools", "h11"])
def parser(request: pytest.FixtureRequest) -> Parser:
    found: Parser = request.param
    return found


@pytest.fixture(scope="module")
def server(parser: Parser) -> Iterator[RunningServer]:
    """One that has keys, so that it is open to nobody."""
    with RunningServer(parser=parser) as running:
        running.key("admin")
        yield running


@pytest.fixture(scope="module")
def editor(server: RunningServer) -> Iterator[Client]:
    with server.client("editor") as client:
        yield client


@pytest.fixture(scope="module")
def agent(server: RunningServer) -> Iterator[Client]:
    with server.client("agent") as client:
        yield client


@pytest.fixture(scope="module")
def viewer(server: RunningServer) -> Iterator[Client]:
    with server.client("viewer") as client:
        yield client


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> Iterator[Client]:
    with server.client("admin") as client:
        yield client


@pytest.fixture(scope="module")
def nobody(server: RunningServer) -> Iterator[Client]:
    """A client without a key."""
    with server.client() as client:
        yield client


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged, line by line."""
    kept = Lines()
    restore = configure_log("debug", kept.stream)
    yield kept
    restore()
