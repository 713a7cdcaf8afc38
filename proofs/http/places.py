"""Where in the log each request left its mark."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import apsw

from pausemesh.core.claim import Finished
from pausemesh.core.continuation_events import Cancelled, Created, Resumed
from pausemesh.core.effect_events import Completed, Failed, Started
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS
from proofs.http.told import Asked
from proofs.stored import Stored, StoredStream

Mark: TypeAlias = tuple[str, str]


class Places:
    """The sequence number of every event that a request's mark is in.

    Args:
        stored: what the file holds.
        ends: the last sequence number of each life but the last one.

    Attributes:
        lives: how many servers followed each other; in the last one's all leases have lapsed.
    """

    def __init__(self, stored: Stored, ends: Sequence[int]) -> None:
        self._ends = ends
        self.lives = len(ends) + 1
        self._seqs: dict[Mark, int] = dict(_marks_of(stored))

    def seq_of(self, asked: Asked) -> int | None:
        """Return where a request is stored, None where it is not."""
        return self._seqs.get(mark_of(asked))

    def life_of(self, seq: int) -> int:
        """Return in which life it was stored."""
        return bisect_left(self._ends, seq) + 1


def last_seq(path: Path) -> int:
    """Return the last sequence number of a file that nobody serves; nothing in it is touched."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM events").get)
    finally:
        connection.close()


def mark_of(asked: Asked) -> Mark:
    """Return what is in the file if a request took place."""
    if asked.do == "outcome" and not asked.about["completed"]:
        return "failed", asked.mark
    return asked.do, asked.mark


def _marks_of(stored: Stored) -> Iterator[tuple[Mark, int]]:
    for _, _, stream in stored.of(CONTINUATIONS):
        yield from _marks_of_continuation(stream)
    for _, _, stream in stored.of(EFFECTS):
        yield from _marks_of_effect(stream)
    for _, noun_id, stream in stored.of(CLAIMS):
        yield from ((("done", str(end.result.value)), stream.events[-1].seq) for end in finishes(stored, noun_id))


def finishes(stored: Stored, noun_id: str) -> list[Finished]:
    """Return how the claim of a question ended; nothing where it did not."""
    stream = stored.find(CLAIMS, noun_id)
    events = () if stream is None else stream.stamped(CLAIMS)
    return [stamped.event for stamped in events if isinstance(stamped.event, Finished)]


def _marks_of_continuation(stream: StoredStream) -> Iterator[tuple[Mark, int]]:
    for row, stamped in zip(stream.events, stream.stamped(CONTINUATIONS), strict=True):
        match stamped.event:
            case Created(correlation_id=mark):
                yield ("create", mark), row.seq
            case Resumed(idempotency_key=mark):
                yield ("resume", mark), row.seq
                yield ("answer", mark), row.seq
            case Cancelled(reason=reason):
                yield ("cancel", str(reason)), row.seq
            case _:
                pass


def _marks_of_effect(stream: StoredStream) -> Iterator[tuple[Mark, int]]:
    attempt = ""
    for row, stamped in zip(stream.events, stream.stamped(EFFECTS), strict=True):
        match stamped.event:
            case Started(attempt=mark):
                attempt = str(mark)
                yield ("start", attempt), row.seq
            case Completed(result=result) if isinstance(result.value, dict):
                yield ("outcome", str(result.value["mark"])), row.seq
            case Failed():
                yield ("failed", attempt), row.seq
            case _:
                pass
