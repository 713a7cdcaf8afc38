"""Where the settings of a command come from beside its flags: the environment, then a TOML file."""

import dataclasses
import os
import tomllib
from typing import Final

from cyclopts import App, ArgumentCollection
from cyclopts.config import Env, Toml

from pausemesh.server.settings import ENVIRONMENT_PREFIX, Settings, SettingsError

CONFIG_PATH: Final = "PAUSEMESH_CONFIG_PATH"

_OF_OTHER_COMMANDS: Final = frozenset({"API_KEY", "API_KEY_FILE", "CONFIG_PATH", "DATABASE_URL", "URL"})
"""What else may stand in the environment: what other commands read, and what is refused in words of its own."""


def read_environment(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what no flag gave from ``PAUSEMESH_…``; a name that is no setting's stops the start."""
    known = {field.name.upper() for field in dataclasses.fields(Settings)} | _OF_OTHER_COMMANDS
    for name in os.environ:
        if name.startswith(ENVIRONMENT_PREFIX) and name.removeprefix(ENVIRONMENT_PREFIX) not in known:
            raise SettingsError(f"{name} is no setting; see `pausemesh serve --help`")
    Env(ENVIRONMENT_PREFIX, command=False)(app, commands, arguments)


def read_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what is still open from the file that PAUSEMESH_CONFIG_PATH names; an unknown entry stops the start."""
    path = os.environ.get(CONFIG_PATH)
    if not path:
        return
    try:
        Toml(path, must_exist=True, use_commands_as_keys=False)(app, commands, arguments)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SettingsError(f"{CONFIG_PATH} must name a readable TOML file") from None
