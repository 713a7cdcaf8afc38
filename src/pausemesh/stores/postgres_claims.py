"""The changes of claims and the beats of one flush: what is sent for them, and what comes of it for each."""

from collections.abc import Sequence

from pausemesh.records import Held, Lease
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.postgres_rows import Row
from pausemesh.stores.postgres_values import Parameter, micros_of
from pausemesh.stores.postgres_works import Beats, Change, ClaimChange
from pausemesh.stores.rows import MICROSECOND, from_micros

ClaimReply = Lease | Held | bool | None


def parameters_of_claims(changes: Sequence[ClaimChange]) -> list[Parameter]:
    """Return what ``change_claims`` is given beside the clock and the patience."""
    return [
        pg.integers(one.change for one in changes),
        pg.texts(one.scope for one in changes),
        pg.texts(one.name for one in changes),
        pg.texts(one.worker for one in changes),
        pg.bigints(one.fence for one in changes),
        pg.bigints(one.lease // MICROSECOND for one in changes),
    ]


def parameters_of_beats(beats: Sequence[Beats]) -> list[Parameter]:
    """Return what ``beat`` is given beside the clock and the patience."""
    named = [(one.scope, stream) for one in beats for stream in one.streams]
    return [pg.texts(scope for scope, _ in named), pg.texts(stream for _, stream in named)]


def replies_to_claims(changes: Sequence[ClaimChange], rows: Sequence[Row]) -> list[ClaimReply]:
    """Return what the rows of ``change_claims`` mean for each change."""
    found = {row[0]: row[1:] for row in rows}
    return [_reply_to(change, found.get(number)) for number, change in enumerate(changes, start=1)]


def _reply_to(change: ClaimChange, row: Row | None) -> ClaimReply:
    if change.change is Change.RELEASE:
        return row is not None
    if row is None:
        return None
    is_changed, stream, holder, fence, lease_until, attempts, at = row
    until = from_micros(micros_of(lease_until))
    if not is_changed:
        return Held(at=from_micros(micros_of(at)), until=until, fence=fence)
    return Lease(scope=change.scope, stream=stream, worker=holder, fence=fence, until=until, attempts=attempts)
