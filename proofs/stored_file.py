"""What a SQLite file holds."""

from pathlib import Path
from typing import Final

import apsw

from proofs.stored import EventRow, HeadRow, Stored

_HEADS: Final = """SELECT scope, stream, version, kind, status, open, correlation, queue, token_hash, due_at,
    holder, fence, lease_until, done_at FROM heads"""
_EVENTS: Final = "SELECT seq, scope, stream, version, id, type, at, data FROM events ORDER BY scope, stream, version"
_AUDITED: Final = "SELECT scope, noun_id, count(*) FROM audit_log GROUP BY scope, noun_id"


class StoredFile(Stored):
    """All that a file holds."""

    def __init__(self, path: Path) -> None:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            integrity = str(connection.execute("PRAGMA integrity_check").get)
            heads = [HeadRow._make(row) for row in connection.execute(_HEADS)]
            events = [EventRow._make(row) for row in connection.execute(_EVENTS)]
            audited = {(str(scope), str(noun_id)): int(count) for scope, noun_id, count in connection.execute(_AUDITED)}
        finally:
            connection.close()
        super().__init__(heads, events, audited, integrity=integrity)
