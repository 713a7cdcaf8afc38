"""Whether anything gets slower on PostgreSQL with the number of open questions, and how much room they take."""

import time
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg_pool import AsyncConnectionPool

import pausemesh
from bench.fill import pending_rows
from bench.measure import Row, Sizes
from bench.pending import Medians, compared, probe_each
from bench.replica import ROLE, prepare
from pausemesh.postgres import PostgresEventStore
from pausemesh.stores.postgres_session import Pool
from pausemesh.stores.rows import EventRow, HeadRow, from_micros
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

_SETTINGS: Final = {"max_wal_size": "8GB", "shared_buffers": "1GB"}
_ROWS_PER_COPY: Final = 50_000
_TIMES: Final = frozenset({"due_at", "created_at", "updated_at", "lease_until", "done_at", "at"})
_BYTES_OF_A_GIGABYTE: Final = 10**9


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Compare the same calls on a schema with few and on one with many pending questions, in turn."""
    del folder
    schemas = {"few": sizes.few_pending, "many": sizes.many_pending}
    medians: dict[str, Medians] = {schema: defaultdict(list) for schema in schemas}
    with PostgresServer.start(binaries=binaries_for_tests(), settings=_SETTINGS, durable=True) as server:
        rows: list[Row] = []
        for schema, pending in schemas.items():
            await prepare(server, schema)
            seconds = _fill(server, schema, pending)
            rows += _room(server, schema, pending, seconds)
        async with AsyncConnectionPool(server.url_of(ROLE), min_size=4, max_size=8) as pool:
            for _ in range(sizes.rounds):
                for schema in schemas:
                    await _probe(pool, schema, sizes.probes, medians[schema])
    return rows + compared(medians["few"], medians["many"], sizes)


async def _probe(pool: Pool, schema: str, probes: int, medians: Medians) -> None:
    store = PostgresEventStore(pool, schema)
    async with pausemesh.open(store) as mesh:
        await probe_each(store, mesh, probes, medians)
    await store.close()


def _fill(server: PostgresServer, schema: str, pending: int) -> float:
    """Write so many pending questions, and return how many seconds that took."""
    begun = time.perf_counter()
    rows = pending_rows(range(pending), pending)
    with psycopg.connect(server.url) as connection:
        while chunk := list(islice(rows, _ROWS_PER_COPY)):
            _copy(connection, f"{schema}.heads", HeadRow._fields, [head for head, _ in chunk])
            _copy(connection, f"{schema}.events", EventRow._fields, [event for _, event in chunk])
            connection.commit()
    server.execute(f"VACUUM ANALYZE {schema}.heads")
    server.execute(f"VACUUM ANALYZE {schema}.events")
    server.execute("CHECKPOINT")
    return time.perf_counter() - begun


def _copy(connection: "psycopg.Connection[Any]", table: str, columns: tuple[str, ...], rows: list[Any]) -> None:
    with connection.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row([_value(name, value) for name, value in zip(columns, row, strict=True)])


def _value(column: str, value: Any) -> object:
    if value is None:
        return None
    if column in _TIMES:
        return from_micros(value)
    if column == "open":
        return bool(value)
    return value.hex() if column == "id" else value


def _room(server: PostgresServer, schema: str, pending: int, seconds: float) -> list[Row]:
    sizes = server.execute(
        "SELECT c.relnamespace::regnamespace::text, sum(pg_table_size(c.oid)), sum(pg_indexes_size(c.oid))"
        " FROM pg_class AS c WHERE c.relkind = 'r' GROUP BY 1"
    )
    [(tables, indexes)] = [(table, index) for name, table, index in sizes if name == schema]
    return [
        Row(name=f"tables of {pending:,} pending", value=int(tables) / _BYTES_OF_A_GIGABYTE, unit="GB"),
        Row(name=f"indexes of {pending:,} pending", value=int(indexes) / _BYTES_OF_A_GIGABYTE, unit="GB"),
        Row(name=f"{pending:,} pending written by COPY", value=pending / seconds, unit="/s"),
    ]
