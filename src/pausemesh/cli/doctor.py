"""``pausemesh doctor``."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cyclopts import CycloptsError
from rich.text import Text

from pausemesh import InvalidRequest
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.health import Check, State, fail, ok, warn
from pausemesh.cli.health_of_database import checks_of_database
from pausemesh.cli.health_of_machine import check_sqlite, checks_of_place
from pausemesh.cli.place import AsJson
from pausemesh.cli.place import database_path as database_path_of
from pausemesh.cli.terminal import print_json, shown, standard_console
from pausemesh.server.settings import Settings, SettingsError

_STYLES: Final = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red"}
_NAME_CHARACTERS: Final = 12


def doctor(*, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Look at this machine, a database on it and the settings, and say what to do.

    Args:
        as_json: print {sound, checks} as JSON.
        database_path: a SQLite file; the one that pausemesh serve would use where it is left out.
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
    yield check_sqlite()
    settings, of_settings = _settings()
    yield of_settings
    if given is None and settings is not None and settings.is_in_memory:
        yield warn("file", "The settings keep everything in memory.", "Set PAUSEMESH_DATABASE_PATH to a file.")
        return
    try:
        path = database_path_of(given)
    except InvalidRequest:  # it is what the settings were refused for
        return
    of_place = [*checks_of_place(path)]
    yield from of_place
    if of_place[0].state is not State.FAIL:
        needs_keys = settings is not None and not settings.is_loopback
        yield from asyncio.run(checks_of_database(path, needs_keys=needs_keys))


def _settings() -> tuple[Settings | None, Check]:
    """Read the settings as ``pausemesh serve`` would; a secret that it would make is not made."""
    from pausemesh.cli.app import app  # noqa: PLC0415 - it is what loads this module

    advice = "Put it right: pausemesh serve does not start like this."
    if os.environ.get("PAUSEMESH_DATABASE_URL"):
        text = "PAUSEMESH_DATABASE_URL is set, and this release keeps its data in SQLite alone."
        return None, fail("settings", text, advice)
    try:
        _, bound, _ = app.parse_args(["serve"], exit_on_error=False, print_error=False)
        settings = bound.arguments.get("settings") or Settings()
        is_named = settings.secret_keys is not None or settings.secret_keys_file is not None
        if is_named or settings.own_secret_path.exists():
            settings.policy()
    except (CycloptsError, SettingsError, OSError, ValueError) as error:
        return None, fail("settings", " ".join(str(error).split()), advice)
    return settings, ok("settings", "pausemesh serve starts with them")


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
