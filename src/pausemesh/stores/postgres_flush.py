"""One flush: the statements that do what several calls ask for in one transaction, and what comes of it for each."""

from collections.abc import Sequence
from typing import NamedTuple

from pausemesh.records import Write
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.postgres_appends import is_single, parameters_of_many, parameters_of_one, report_of
from pausemesh.stores.postgres_claims import parameters_of_beats, parameters_of_claims, replies_to_claims
from pausemesh.stores.postgres_queue import AskedWork
from pausemesh.stores.postgres_session import Row, Sending
from pausemesh.stores.postgres_statement import statement_in
from pausemesh.stores.postgres_values import Parameter
from pausemesh.stores.postgres_works import Append, Beats, ClaimChange


class Terms(NamedTuple):
    """What holds for all flushes of a store: its schema, its limits, and the clock of a test.

    ``patience`` is how long a flush waits for the order lock, as ``lock_timeout`` has it.
    """

    schema: str
    most_events: int
    patience: str


class Flush:
    """Appends first, then claims, then beats; each kind in the order of its calls."""

    def __init__(self, asked: Sequence[AskedWork], terms: Terms, now: int | None) -> None:
        self._terms = terms
        self._now = pg.timestamptz(now)
        self._calls = [(one, one.work.writes) for one in asked if isinstance(one.work, Append)]
        self._changes = [(one, one.work) for one in asked if isinstance(one.work, ClaimChange)]
        self._beats = [(one, one.work) for one in asked if isinstance(one.work, Beats)]

    def sendings(self) -> list[Sending]:
        """Return the statements, one for each kind of call that there is."""
        sendings: list[Sending] = []
        if self._calls:
            sendings.append(self._appending([writes for _, writes in self._calls]))
        if self._changes:
            sendings.append(self._sending("change_claims", parameters_of_claims([work for _, work in self._changes])))
        if self._beats:
            sendings.append(self._sending("beat", parameters_of_beats([work for _, work in self._beats])))
        return sendings

    def replies(self, results: Sequence[Sequence[Row]]) -> tuple[int, list[tuple[AskedWork, object]]]:
        """Return the greatest seq that is known now, 0 for none, and the reply to each call."""
        replies: list[tuple[AskedWork, object]] = []
        last_seq = 0
        left = list(results)
        if self._calls:
            report = report_of([writes for _, writes in self._calls], left.pop(0), self._terms.most_events)
            last_seq = report.last_seq
            replies += zip([asked for asked, _ in self._calls], report.replies, strict=True)
        if self._changes:
            found = replies_to_claims([work for _, work in self._changes], left.pop(0))
            replies += zip([asked for asked, _ in self._changes], found, strict=True)
        replies += [(asked, None) for asked, _ in self._beats]
        return last_seq, replies

    def _appending(self, calls: Sequence[tuple[Write, ...]]) -> Sending:
        most_events = pg.bigint(self._terms.most_events)
        if is_single(calls):
            return self._sending("append_one", [most_events, *parameters_of_one(calls[0][0])])
        return self._sending("append_many", [most_events, *parameters_of_many(calls)])

    def _sending(self, name: str, parameters: Sequence[Parameter]) -> Sending:
        patience = pg.text(self._terms.patience)
        return statement_in(self._terms.schema, name), [self._now, patience, *parameters]
