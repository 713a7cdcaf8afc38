"""What the database does by itself: the two statements of a cycle, each its own transaction, sent by pgbench.

They write the same columns under the same indexes as a store does, without the order lock, a notification or a record
of repeats: whoever needs no more can have this.
"""

import re
import subprocess
from pathlib import Path
from typing import Final

from pausemesh.testing.postgres import PostgresServer

SCHEMA: Final = "plain"

_TABLES: Final = """
DROP SCHEMA IF EXISTS plain CASCADE;
CREATE SCHEMA plain;
CREATE TABLE plain.heads (LIKE {schema}.heads INCLUDING ALL);
CREATE TABLE plain.events (LIKE {schema}.events INCLUDING ALL);
CREATE SEQUENCE plain.seqs;
"""
_CREATE: Final = """
WITH head AS (
  INSERT INTO plain.heads (
    scope, stream, version, kind, status, open, correlation, token_hash, due_at, created_at, updated_at, fence, attempts
  ) VALUES (
    'default',
    'continuation/q_' || lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint), 20, '0')
      || lpad(to_hex(:client_id::integer), 6, '0'),
    1, 'continuation', 'pending', true, 'q_' || :client_id::text, sha256('token'::bytea),
    now() + interval '1 week', now(), now(), 0, 0
  )
  RETURNING scope, stream
),
event AS (
  INSERT INTO plain.events (seq, scope, stream, version, id, type, at, data)
  SELECT nextval('plain.seqs'), scope, stream, 1, gen_random_uuid(), 'continuation.created', now(), convert_to(repeat(
    'x', {created}), 'UTF8')
  FROM head
)
SELECT stream FROM head \\gset
"""
_RESUME: Final = """
WITH head AS (
  UPDATE plain.heads
  SET version = 2, status = 'resumed', open = false, due_at = NULL, updated_at = now()
  WHERE scope = 'default' AND stream = :stream AND version = 1 AND token_hash = sha256('token'::bytea)
    AND due_at > clock_timestamp()
  RETURNING scope, stream
),
event AS (
  INSERT INTO plain.events (seq, scope, stream, version, id, type, at, data)
  SELECT nextval('plain.seqs'), scope, stream, 2, gen_random_uuid(), 'continuation.resumed', now(), convert_to(repeat(
    'y', {resumed}), 'UTF8')
  FROM head
)
SELECT e.version, e.id, e.type, e.at, e.seq, e.data FROM plain.events AS e JOIN head USING (scope, stream);
"""
_RATE: Final = re.compile(r"tps = ([0-9.]+) \(without initial connection time\)")


class Pgbench:
    """Runs the cycle by itself.

    Args:
        server: which it runs on.
        folder: for its script.
        schema: of a store, whose tables are copied.
        created: how many bytes the first event of a question has.
        resumed: how many the second has.
    """

    def __init__(self, server: PostgresServer, folder: Path, *, schema: str, created: int, resumed: int) -> None:
        self._server = server
        self._script = folder / "cycle.sql"
        self._script.write_text((_CREATE + _RESUME).format(created=created, resumed=resumed), encoding="utf-8")
        server.execute(_TABLES.format(schema=schema))

    def cycles_per_second(self, clients: int, seconds: float) -> float:
        """Return how many cycles so many clients do in a second."""
        options = ["-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2))]
        options += ["-T", str(max(1, round(seconds))), "-f", str(self._script), self._server.url]
        program = self._server.binaries / "pgbench"
        ended = subprocess.run([program, *options], check=False, capture_output=True, text=True)
        found = _RATE.search(ended.stdout)
        if ended.returncode or found is None:
            raise AssertionError(f"pgbench failed:\n{ended.stdout}{ended.stderr}")
        return float(found[1])
