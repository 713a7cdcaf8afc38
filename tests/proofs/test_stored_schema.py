"""What a schema holds is read past the store, as what a file holds is, and whatever is not whole in it is found."""

import asyncio
from collections.abc import Iterator

import pytest
from psycopg_pool import AsyncConnectionPool

import pausemesh
from pausemesh.postgres import PostgresEventStore, migrate_postgres_event_store
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.testing.postgres import server_for_tests
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own
from proofs.postgres.stored_schema import StoredSchema

ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresAddress]:
    with server_for_tests() as started:
        yield started


@pytest.fixture
def schema(server: PostgresAddress) -> Iterator[str]:
    """A schema with a question that was answered and carried out, and one that is open."""
    with schema_of_its_own(server) as name:
        asyncio.run(fill(server.url, name))
        yield name


async def fill(url: str, schema: str) -> None:
    async with AsyncConnectionPool(url, min_size=1, max_size=8) as pool:
        await migrate_postgres_event_store(pool, schema)
        store = PostgresEventStore(pool, schema)
        async with pausemesh.open(store) as mesh:
            await mesh.create(payload=1, continuation_id="open")
            await mesh.create(payload=2, continuation_id="done")
            await mesh.answer("done", by=ANA, idempotency_key="k", payload=True)
            async with mesh.claim("done") as turn:
                await turn.effect("act", run=dict)
        await store.close()


def test_a_schema_as_the_store_left_it_is_whole(server: PostgresAddress, schema: str) -> None:
    stored = StoredSchema(server, schema)
    assert stored.flaws() == []
    assert {noun_id for _, noun_id, _ in stored.of(CONTINUATIONS)} == {"open", "done"}
    assert stored.last_seq == sum(len(stream.events) for stream in stored.streams.values())


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE {}.heads SET status = 'cancelled' WHERE stream = 'continuation/done'",
        "UPDATE {}.heads SET due_at = due_at + interval '1 second' WHERE stream = 'continuation/open'",
        "ALTER TABLE {0}.events DISABLE TRIGGER USER; DELETE FROM {0}.events WHERE seq = 1",
    ],
)
def test_what_is_not_whole_is_found(server: PostgresAddress, schema: str, tamper: str) -> None:
    server.execute(tamper.format(schema))
    assert StoredSchema(server, schema).flaws()
