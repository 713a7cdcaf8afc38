"""``pausemesh doctor``."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cyclopts import CycloptsError
from rich.text import Text

from pausemesh import InvalidRequest
from pausemesh.cli.database import Database, PostgresSchema, SqliteFile, database_of
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.health import Check, State, fail, ok, warn
from pausemesh.cli.health_of_database import checks_of_database
from pausemesh.cli.health_of_machine import check_sqlite, checks_of_place
from pausemesh.cli.place import AsJson, database_in
from pausemesh.cli.terminal import print_json, shown, standard_console
from pausemesh.server.settings import Settings, SettingsError, refuse_own_secret

_STYLES: Final = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red"}
_NAME_CHARACTERS: Final = 12


def doctor(*, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Look at this machine, a database on it and the settings, and say what to do.

    Args:
        as_json: print {sound, checks} as JSON.
        database_path: a SQLite file; the database that pausemesh serve would use where it is left out.
    """

    def work() -> Exit:
        checks = [*_checks(database_path)]
        is_sound = all(check.state is not State.FAIL for check in checks)
        if as_json:
            print_json({"sound": is_sound, "checks": [check.as_json() for check in checks]})
        else:
            _print(checks)
        return Exit.FINE if is_sound else Exit.UNSOUND

    return run(work, as_json=as_json)


def _checks(given: Path | None) -> Iterator[Check]:
    settings, of_settings = _settings()
    database = _database(given)
    if not isinstance(database, PostgresSchema):
        yield check_sqlite()
    yield of_settings
    if given is None and settings is not None and settings.is_in_memory:
        yield warn("file", "The settings keep everything in memory.", "Set PAUSEMESH_DATABASE_PATH to a file.")
    if database is None:
        return
    if isinstance(database, SqliteFile):
        of_place = [*checks_of_place(database.path)]
        yield from of_place
        if of_place[0].state is State.FAIL:
            return
    needs_keys = settings is not None and not settings.is_loopback
    yield from asyncio.run(checks_of_database(database, needs_keys=needs_keys))


def _database(given: Path | None) -> Database | None:
    try:
        return database_in(given)
    except InvalidRequest:  # it is what the settings are refused for, or they keep nothing
        return None


def _settings() -> tuple[Settings | None, Check]:
    """Read the settings as ``pausemesh serve`` would; a secret that it would make is not made."""
    from pausemesh.cli.app import app  # noqa: PLC0415 - it is what loads this module

    try:
        _, bound, _ = app.parse_args(["serve"], exit_on_error=False, print_error=False)
        settings = bound.arguments.get("settings") or Settings()
        _check_secrets(settings, database_of(settings))
    except (CycloptsError, SettingsError, OSError, ValueError) as error:
        advice = "Put it right: pausemesh serve does not start like this."
        return None, fail("settings", " ".join(str(error).split()), advice)
    return settings, ok("settings", "pausemesh serve starts with them")


def _check_secrets(settings: Settings, database: Database) -> None:
    is_named = settings.secret_keys is not None or settings.secret_keys_file is not None
    if isinstance(database, PostgresSchema):
        settings.policy(refuse_own_secret)
    elif is_named or settings.own_secret_path.exists():
        settings.policy()


def _print(checks: list[Check]) -> None:
    console = standard_console()
    for check in checks:
        name = f"{check.state.value:<5} {check.name:<{_NAME_CHARACTERS}} "
        console.print(Text.assemble((name, _STYLES[check.state]), shown(check.text), overflow="fold"))
        if check.advice is not None:
            console.print(Text.assemble(" " * len(name), shown(check.advice), overflow="fold"))
    counts = {state: sum(check.state is state for check in checks) for state in State}
    words = ", ".join(f"{count} {state.value}" for state, count in counts.items() if count)
    console.print(f"{words}.")
