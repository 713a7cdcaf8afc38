"""Checks of what is in a database, and of whether somebody looks after it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Final

from pausemesh import (
    Mesh,
    SchemaError,
    SchemaMissing,
    StoreCorrupt,
    StoreError,
    StoreUnsafe,
    SystemClock,
)
from pausemesh import open as open_mesh
from pausemesh.cli.database import Database, SqliteFile, Store
from pausemesh.cli.health import Check, fail, ok, warn
from pausemesh.cli.health_of_postgres import READY, refusal_of_postgres

_OVERDUE: Final = timedelta(seconds=60)
"""A server records an expiry within 15 seconds."""

_AHEAD: Final = timedelta(seconds=5)
_OVERDUE_LOOKED_AT: Final = 100
_EARLIEST_YEAR: Final = 2026
_READY: Final = (
    ok("schema", "exactly the one of this release"),
    ok("durability", "write-ahead log on, every commit is flushed to the disk"),
)
"""What a SQLite file says by being opened and ready."""

_ASIDE: Final = "Stop what uses it, keep it as it is, and go back to a backup."


async def checks_of_database(database: Database, *, needs_keys: bool) -> list[Check]:
    """Open a database that is there, look at what is in it, and close it again.

    ``needs_keys``: the settings let others than this machine reach the server.
    """
    checks: list[Check] = []
    try:
        async with database.open_store(create=False) as store, open_mesh(store) as mesh:
            await store.check_ready()
            checks += _READY if isinstance(database, SqliteFile) else READY
            async for check in _checks(store, mesh, needs_keys=needs_keys):
                checks.append(check)
    except StoreError as error:
        checks.append(_refusal(error) if isinstance(database, SqliteFile) else refusal_of_postgres(error))
    return checks


async def _checks(store: Store, mesh: Mesh, *, needs_keys: bool) -> AsyncIterator[Check]:
    yield _check_medium(list(await store.check_integrity(quick=True)))
    last = await store.feed(await store.last_seq() - 1)
    yield check_clock(SystemClock().now(), last[-1].at if last else None)
    yield await _check_keys(mesh, needs_keys=needs_keys)
    yield await _check_sweeper(store)


def _refusal(error: StoreError) -> Check:
    """Return what the store said that it cannot be opened for, as the check that it belongs to."""
    text = str(error)
    match error:
        case StoreUnsafe():
            return fail("durability", text, "Put it on a local disk, and install a newer apsw.")
        case SchemaMissing():
            return fail("schema", text, "Start pausemesh serve once, which brings an older file up to date.")
        case SchemaError():
            return fail("schema", text, "Use the release that wrote it, or go back to a backup.")
        case StoreCorrupt():
            return fail("integrity", text, _ASIDE)
        case _:
            return fail("open", text, "See which process uses it, and whether its folder can be written.")


def _check_medium(found: list[str]) -> Check:
    if found:
        return fail("integrity", " ".join(found), f"{_ASIDE} `pausemesh verify` says what is damaged.")
    return ok("integrity", "a quick look finds it whole; `pausemesh verify` looks at everything")


def check_clock(now: datetime, last: datetime | None) -> Check:
    """Compare the clock with the newest event, which an honest one is never behind."""
    if now.year < _EARLIEST_YEAR:
        return fail("clock", f"It is said to be {now.year}.", "Set the clock; deadlines are judged by it.")
    if last is not None and last > now + _AHEAD:
        text = f"The newest event is {(last - now).total_seconds():,.0f} seconds ahead of the clock."
        return fail("clock", text, "Set the clock, and keep it with NTP; deadlines are judged by it.")
    return ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC, and no event is ahead of it")


async def _check_keys(mesh: Mesh, *, needs_keys: bool) -> Check:
    now = SystemClock().now()
    valid = sum(key.is_valid(now) for key in await mesh.keys())
    advice = "Make one: pausemesh keys create --role admin"
    if valid:
        return ok("keys", f"{valid} that can be used")
    if await mesh.has_keys():
        return warn("keys", "No API key is valid any more, and a server lets nobody in.", advice)
    if needs_keys:
        return fail("keys", "There is no API key, and the settings reach beyond this machine.", advice)
    return warn("keys", "There is no API key: whoever is on this machine may create and resume.", advice)


async def _check_sweeper(store: Store) -> Check:
    long_ago = SystemClock().now() - _OVERDUE
    overdue = [one for one in await store.list_due(_OVERDUE_LOOKED_AT) if _is_before(one.head.due_at, long_ago)]
    if overdue:
        many = f"{len(overdue)} or more" if len(overdue) == _OVERDUE_LOOKED_AT else f"{len(overdue)}"
        text = f"{many} open past their deadline for more than a minute; nobody sweeps."
        return warn("sweeper", text, "Start pausemesh serve, or call mesh.sweep() every few seconds.")
    return ok("sweeper", "no question is open long past its deadline")


def _is_before(due: datetime | None, moment: datetime) -> bool:
    return due is not None and due < moment
