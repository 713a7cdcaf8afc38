"""Heads that are written anew, each only where what is stored is exactly what was seen."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from pausemesh.core.errors import StoreCorrupt
from pausemesh.records import Restoring, Stream
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.batch import EventMark, is_restorable
from pausemesh.stores.postgres_flush import Terms
from pausemesh.stores.postgres_rows import HEAD_COLUMNS, Row, by_number, event_of, head_of
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import statement_in
from pausemesh.stores.postgres_values import Parameter
from pausemesh.stores.rows import restored_head

_COLUMNS: Final[tuple[Callable[[Any], Parameter], ...]] = (
    *(pg.text, pg.text, pg.bigint, pg.text, pg.text, pg.boolean, pg.text),
    *(pg.text, pg.text, pg.text, pg.bytea),
    *(pg.timestamptz, pg.timestamptz, pg.timestamptz),
    *(pg.text, pg.bigint, pg.timestamptz, pg.timestamptz, pg.bigint),
)
"""How the columns of a ``HeadRow`` are written."""


async def restore(
    session: PostgresSession, restorings: Sequence[Restoring], terms: Terms, *, deadline: float
) -> list[bool]:
    """Do it in one transaction, and tell of each whether it was done.

    Raises:
        ConnectionLost: it may have been done.
        ServerRefused: nothing was done.
    """
    heads = [one.head for one in restorings]
    await session.run(b"BEGIN", deadline=deadline)
    await session.fetch(statement_in(terms.schema, "take_turn"), [pg.text(terms.patience)], deadline=deadline)
    wanted = [
        pg.texts(head.scope for head in heads),
        pg.texts(head.stream for head in heads),
        pg.bigint(max(head.version for head in heads) + 1),
    ]
    rows = await session.fetch(statement_in(terms.schema, "list_streams"), wanted, deadline=deadline)
    found = by_number(rows)
    done = []
    for number, restoring in enumerate(restorings, start=1):
        name = _statement_for(restoring, found[number])
        done.append(name is not None)
        if name is not None:
            await session.fetch(statement_in(terms.schema, name), _parameters(restoring.head), deadline=deadline)
    await session.run(b"COMMIT", deadline=deadline)
    return done


def _statement_for(restoring: Restoring, rows: Sequence[Row]) -> str | None:
    """Return what writes the head; None where it may not be written."""
    stream = restoring.head
    try:
        head = head_of(stream.scope, stream.stream, rows[0][1 : HEAD_COLUMNS + 1])
        marks = _Marks(stream, rows)
    except StoreCorrupt:
        return None
    if not is_restorable(restoring, head, marks):
        return None
    return "insert_head" if head is None else "replace_head"


def _parameters(stream: Stream) -> list[Parameter]:
    return [encode(value) for encode, value in zip(_COLUMNS, restored_head(stream), strict=True)]


class _Marks:
    """The events of one stream, as ``Marks`` has them."""

    def __init__(self, stream: Stream, rows: Sequence[Row]) -> None:
        columns = [row[HEAD_COLUMNS + 1 :] for row in rows if row[HEAD_COLUMNS + 1] is not None]
        events = [event_of(stream.scope, stream.stream, one) for one in columns]
        self._marks = {event.version: EventMark(event.seq, event.id, event.at) for event in events}

    def find_event(self, scope: str, stream: str, version: int) -> EventMark | None:  # noqa: ARG002 - it has one stream
        """Return the mark of one event."""
        return self._marks.get(version)
