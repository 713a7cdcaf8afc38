"""Where the settings of a command come from beside its flags: the environment, then a TOML file."""

import contextlib
import dataclasses
import functools
import os
import tomllib
from collections.abc import Iterator
from typing import Final

from cyclopts import App, ArgumentCollection, CycloptsError
from cyclopts.config import Env, Toml

from pausemesh import InvalidRequest
from pausemesh.server.settings import ENVIRONMENT_PREFIX, Settings, SettingsError
from pausemesh.stores.postgres_schema_name import DEFAULT_SCHEMA

CONFIG_PATH: Final = "PAUSEMESH_CONFIG_PATH"

_NO_SETTINGS: Final = frozenset(
    {"API_KEY", "API_KEY_FILE", "CONFIG_PATH", "DATABASE_URL", "DATABASE_URL_FILE", "URL"}
    | {"MIGRATION_DATABASE_URL", "MIGRATION_DATABASE_URL_FILE"}
)
"""What else may stand in the environment: what other commands read, and addresses, which no flag and file may hold."""


def read_environment(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what no flag gave from ``PAUSEMESH_…``; a name that is no setting's stops the start."""
    known = {field.name.upper() for field in dataclasses.fields(Settings)} | _NO_SETTINGS
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX) and name.removeprefix(ENVIRONMENT_PREFIX) not in known:
            raise SettingsError(f"{name} is no setting; see `pausemesh serve --help`")
    Env(ENVIRONMENT_PREFIX, command=False)(app, commands, arguments)


def read_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what is still open from the file that PAUSEMESH_CONFIG_PATH names; an unknown entry stops the start."""
    _read_file(app, commands, arguments, allow_unknown=False)


def settings_of_database() -> Settings:
    """Return settings that name the database which a server would use; the others are not read.

    Raises:
        SettingsError: what is set names none, or the file cannot be read.
    """
    app = App(config=(Env(ENVIRONMENT_PREFIX, command=False), functools.partial(_read_file, allow_unknown=True)))
    app.default(_database_alone)
    try:
        read, bound, _ = app.parse_args([], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise SettingsError(" ".join(str(error).split())) from None
    settings: Settings = read(*bound.args, **bound.kwargs)
    return settings


@contextlib.contextmanager
def refused_as_request() -> Iterator[None]:
    """Let a block refuse settings as a command refuses its words.

    Raises:
        InvalidRequest: in place of a SettingsError.
    """
    try:
        yield
    except SettingsError as error:
        raise InvalidRequest(f"{error}.") from None


def _database_alone(*, database_path: str | None = None, database_schema: str = DEFAULT_SCHEMA) -> Settings:
    return Settings(database_path=database_path, database_schema=database_schema)


def _read_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection, *, allow_unknown: bool) -> None:
    path = os.environ.get(CONFIG_PATH)
    if not path:
        return
    try:
        file = Toml(path, must_exist=True, use_commands_as_keys=False, allow_unknown=allow_unknown)
        file(app, commands, arguments)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SettingsError(f"{CONFIG_PATH} must name a readable TOML file") from None
