"""No statement looks at more rows than it returns, whether the server knows its tables yet or not."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from importlib import resources
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from pausemesh.postgres import PostgresEventStore
from pausemesh.records import Due, Write
from pausemesh.stores.postgres_session import Pool
from pausemesh.stores.postgres_statement import statement_in
from pausemesh.stores.statements import statement
from pausemesh.testing.conformance_givens import SCOPE, SECOND, TOKEN, audit_row, head, write
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own
from tests.postgres.conftest import migrate

STREAMS = 20_000
CALLS = 240

SORTS_SEQS = "list_events_of_correlation"  # the streams of a correlation have no common order in any index
LOOKS_AT_ALL = {"count_events"}  # asked by who checks the whole database
OF_THE_CATALOG = {"find_schema", "find_server", "list_missing_rights", "lock_migration", "settle_names"}
SMALL_TABLES = {"list_migrations"}
WITHOUT_A_TABLE = {"append_many", "append_one", "beat", "change_claims", "find_channel", "take_turn"}
LISTS = {
    "list_by_correlation": "heads_by_correlation",
    "list_open_by_status": "heads_open",
    "list_due": "heads_due",
    "list_audit_rows": "audit_log_pkey",
    "list_events_after": "events_seq_key",
    "list_events_of_scope": "events_seq_key",
    "list_events_of_correlation": "heads_by_correlation",
    "list_names_of_heads": "heads_pkey",
    "list_names_of_events": "events_pkey",
    "list_streams": "heads_pkey",
    "find_last_seq": "events_seq_key",
}


def names_of_statements() -> set[str]:
    folder = resources.files("pausemesh.stores") / "sql" / "postgres"
    names = {file.name.removesuffix(".sql") for file in folder.iterdir() if file.name.endswith(".sql")}
    return {name for name in names if statement("postgres", name).startswith("SELECT")}


@pytest.fixture(scope="module", params=["as it was filled", "analysed"])
def filled(postgres_server: PostgresAddress, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a schema with many streams in one scope, a tenth of them open and due."""
    with schema_of_its_own(postgres_server) as schema:
        asyncio.run(migrate(postgres_server.url, schema))
        postgres_server.execute(FILLING.replace("pausemesh.", f"{schema}."))
        if request.param == "analysed":
            postgres_server.execute(f"ANALYZE {schema}.heads, {schema}.events, {schema}.audit_log")
        yield schema


FILLING = f"""
INSERT INTO pausemesh.heads (
  scope, stream, version, kind, status, open, correlation, queue, due_at, created_at, updated_at, fence, attempts
)
SELECT
  'default', 'continuation/' || lpad(n::text, 8, '0'), 1, 'continuation', CASE WHEN n % 10 = 0 THEN 'pending' ELSE
  'resumed' END, n % 10 = 0, 'trip-' || n / 4, CASE WHEN n % 3 = 0 THEN 'q' END, CASE WHEN n % 10 = 0 THEN now() END,
  now(), now(), 0, 0
FROM generate_series(1, {STREAMS}) AS n;
INSERT INTO pausemesh.events (seq, scope, stream, version, id, type, at, data)
SELECT
  n + (SELECT coalesce(max(seq), 0) FROM pausemesh.events), 'default', 'continuation/' || lpad(n::text, 8, '0'), 1,
  gen_random_uuid(), 't', now(), ''
FROM generate_series(1, {STREAMS}) AS n;
INSERT INTO pausemesh.audit_log (scope, at, id, action, noun, noun_id, correlation, actor)
SELECT 'default', now(), gen_random_uuid(), 'a', 'n', 'i', 'c', 'x' FROM generate_series(1, {STREAMS});
"""  # noqa: S608


def plan_of(server: PostgresAddress, schema: str, name: str) -> str:
    sql = statement_in(schema, name).sql.decode()
    count = max([int(number) for number in re.findall(r"\$(\d+)", sql)], default=0)
    arguments = f"({', '.join(['NULL'] * count)})" if count else ""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE looked_at AS {sql}".encode())
        rows = connection.execute(f"EXPLAIN EXECUTE looked_at{arguments}".encode()).fetchall()
    return "\n".join(row[0] for row in rows)


def test_every_statement_is_looked_at() -> None:
    assert names_of_statements() == LISTS.keys() | LOOKS_AT_ALL | OF_THE_CATALOG | SMALL_TABLES | WITHOUT_A_TABLE


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_starts_where_its_cursor_stands(postgres_server: PostgresAddress, filled: str, name: str) -> None:
    plan = plan_of(postgres_server, filled, name)
    assert "Seq Scan" not in plan
    assert re.search(rf"Index.* Scan.* using {LISTS[name]} ", plan), plan
    if name not in {SORTS_SEQS, "list_streams"}:
        assert "Sort" not in plan


@pytest.fixture
async def counted_store(postgres_server: PostgresAddress, filled: str) -> AsyncIterator[PostgresEventStore]:
    async with AsyncConnectionPool(postgres_server.url, min_size=1, max_size=8) as pool:
        store = PostgresEventStore(pool, filled)
        yield store
        await store.close()


async def test_flushes_look_at_the_places_that_they_are_about_and_no_others(
    postgres_server: PostgresAddress, filled: str, counted_store: PostgresEventStore
) -> None:
    assert await blocks_read(postgres_server, filled, counted_store) < 40


async def test_plans_that_were_made_for_empty_tables_do_for_full_ones(
    postgres_server: PostgresAddress, pool: Pool, migrated: str
) -> None:
    store = PostgresEventStore(pool, migrated)
    for together in (1, 8):
        await live(store, f"before/{together}", together)
    postgres_server.execute(FILLING.replace("pausemesh.", f"{migrated}."))
    assert await blocks_read(postgres_server, migrated, store) < 40


async def blocks_read(server: PostgresAddress, schema: str, store: PostgresEventStore) -> float:
    """Let streams live, and return how many blocks of indexes each step looked at; no table was gone over."""
    before = counters(server, schema)
    for together in (1, 8):
        await live(store, f"after/{together}", together)
    await store.close()
    after = counters(server, schema)
    assert after["rows"] - before["rows"] < STREAMS
    return (after["blocks"] - before["blocks"]) / (CALLS * len(STEPS))


async def live(store: PostgresEventStore, prefix: str, together: int) -> None:
    for first in range(0, CALLS // 2, together):
        names = [f"{prefix}/{number}" for number in range(first, first + together)]
        for step in STEPS:
            await asyncio.gather(*[step(store, name) for name in names])


def decided(name: str) -> Write:
    answer = head(status="resumed", open=False, queue=name)
    return write(name, 1, head=answer, token_hash=TOKEN, due=Due.AHEAD, history=True)


STEPS: list[Callable[[PostgresEventStore, str], Coroutine[Any, Any, object]]] = [
    lambda store, name: store.append(write(name, head=head(token_hash=TOKEN), rows=(audit_row(),))),
    lambda store, name: store.append(decided(name)),
    lambda store, name: store.append(write(name, 1, history=True)),
    lambda store, name: store.take(SCOPE, name, "ann", SECOND),
    lambda store, name: store.take_next(SCOPE, name, "bob", SECOND),
    lambda store, name: store.load(SCOPE, name),
]


def counters(server: PostgresAddress, schema: str) -> dict[str, int]:
    """Return how many rows were read by going over tables so far, and how many blocks of indexes were looked at."""
    tables = "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_all_tables WHERE schemaname = "
    indexes = "SELECT coalesce(sum(idx_blks_hit + idx_blks_read), 0) FROM pg_statio_all_indexes WHERE schemaname = "
    [(rows,)], [(blocks,)] = (server.execute(f"{sql}'{schema}'") for sql in (tables, indexes))
    return {"rows": int(rows), "blocks": int(blocks)}
