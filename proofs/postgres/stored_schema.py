"""What a schema of a PostgreSQL database holds."""

from typing import Final

import psycopg
from psycopg import sql

from pausemesh.testing.postgres_address import PostgresAddress
from proofs.stored import EventRow, HeadRow, Stored

_HEADS: Final = """SELECT scope, stream, version, kind, status, open::integer, correlation, queue, token_hash,
    (extract(epoch FROM due_at) * 1000000)::bigint, holder, fence,
    (extract(epoch FROM lease_until) * 1000000)::bigint, (extract(epoch FROM done_at) * 1000000)::bigint
    FROM {}.heads"""
_EVENTS: Final = """SELECT seq, scope, stream, version, uuid_send(id), type,
    (extract(epoch FROM at) * 1000000)::bigint, data FROM {}.events ORDER BY scope, stream, version"""
_AUDITED: Final = "SELECT scope, noun_id, count(*) FROM {}.audit_log GROUP BY scope, noun_id"


class StoredSchema(Stored):
    """All that a schema holds, as one snapshot shows it."""

    def __init__(self, server: PostgresAddress, schema: str) -> None:
        with psycopg.connect(server.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            heads, events, audited = [
                connection.execute(sql.SQL(query).format(sql.Identifier(schema)), binary=True).fetchall()
                for query in (_HEADS, _EVENTS, _AUDITED)
            ]
        rows = [EventRow._make(row) for row in events]
        has_gaps = [row.seq for row in sorted(rows)] != list(range(1, len(rows) + 1))
        super().__init__(
            [HeadRow._make(row) for row in heads],
            rows,
            {(scope, noun_id): count for scope, noun_id, count in audited},
            integrity="the numbers of its events have gaps" if has_gaps else "ok",
        )

    @property
    def last_seq(self) -> int:
        """The greatest sequence number, 0 where there is none."""
        return max((row.seq for stream in self.streams.values() for row in stream.events), default=0)
