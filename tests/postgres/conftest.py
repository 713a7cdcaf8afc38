"""One server a run, and a schema a test."""

from collections.abc import Iterator

import pytest

from pausemesh.testing.postgres import server_for_tests
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresAddress]:
    with server_for_tests() as server:
        yield server


@pytest.fixture
def schema(postgres_server: PostgresAddress) -> Iterator[str]:
    """The name of a schema that is not there yet; whatever it becomes is dropped, with roles of that prefix."""
    with schema_of_its_own(postgres_server) as name:
        yield name
