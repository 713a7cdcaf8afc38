"""Many pending questions at once, in the form that the stores themselves write them."""

import itertools
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import apsw

import pausemesh
from pausemesh.adapters.clock import SystemClock
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.core.continuation_events import Created, event_members, event_type
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.principal import BY_SYSTEM
from pausemesh.core.question import shown_digest
from pausemesh.core.stored_event import write_stored_event
from pausemesh.stores.rows import EventRow, HeadRow, to_micros

_ROWS_PER_COMMIT: Final = 50_000
_PAYLOAD: Final = Document.of({"kind": "input", "message": "Which flight shall it be?", "choices": ["AZ1", "AZ2"]})
_HEAD: Final = f"INSERT INTO heads VALUES ({', '.join('?' * len(HeadRow._fields))})"  # noqa: S608 - question marks alone
_EVENT: Final = f"INSERT INTO events VALUES ({', '.join('?' * len(EventRow._fields))})"  # noqa: S608 - as above


async def fill(path: Path, rows: int) -> None:
    """Write so many pending questions, a second apart in the past and due in the coming days."""
    store = await pausemesh.SqliteEventStore.open(path, SystemClock())
    await store.close()
    connection = apsw.Connection(str(path))
    connection.pragma("synchronous", 0)
    numbers = iter(range(rows))
    while chunk := list(itertools.islice(numbers, _ROWS_PER_COMMIT)):
        pairs = list(pending_rows(chunk, rows))
        with connection:
            connection.executemany(_HEAD, [head for head, _ in pairs])
            connection.executemany(_EVENT, [event for _, event in pairs])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def id_of(number: int) -> str:
    """Return the id of one of the questions."""
    return f"q_{number:026}"


def pending_rows(numbers: Iterable[int], total: int) -> Iterator[tuple[HeadRow, EventRow]]:
    """Return the head and the event of each of so many questions."""
    ids, now = TimeOrderedIds(), SystemClock().now()
    metadata = Document.of({})
    for number in numbers:
        noun_id = id_of(number)
        stream = f"continuation/{noun_id}"
        created_at = to_micros(now - timedelta(seconds=total - number))
        due = now.replace(microsecond=0) + timedelta(days=1, seconds=number % 100_000)
        event = Created(
            id=noun_id,
            correlation_id=f"trip-{number}",
            payload=_PAYLOAD,
            metadata=metadata,
            shown_digest=shown_digest(noun_id, _PAYLOAD, due),
            expires_at=due,
            answerable_by=(AnswerableBy.TOKEN, AnswerableBy.OPERATOR),
            by=BY_SYSTEM,
            token_hash=number.to_bytes(32),
        )
        head = HeadRow(
            "default",
            stream,
            1,
            "continuation",
            "pending",
            1,
            f"trip-{number}",
            None,
            None,
            None,
            number.to_bytes(32),
            to_micros(due),
            created_at,
            created_at,
        )
        data = write_stored_event(noun_id, 1, event_members(event))
        yield (
            head,
            EventRow(number + 1, "default", stream, 1, ids.event_id().bytes, event_type(event), created_at, data),
        )
