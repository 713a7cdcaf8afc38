"""Where the settings of a command come from beside its flags: the environment, then a TOML file."""

import os
import tomllib
from typing import Final

from cyclopts import App, ArgumentCollection
from cyclopts.config import Env, Toml

from pausemesh.server.settings import SettingsError

CONFIG_PATH: Final = "PAUSEMESH_CONFIG_PATH"


def read_environment(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what no flag gave from ``PAUSEMESH_…``."""
    Env("PAUSEMESH_", command=False)(app, commands, arguments)


def read_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in what is still open from the file that PAUSEMESH_CONFIG_PATH names; an unknown entry stops the start."""
    path = os.environ.get(CONFIG_PATH)
    if not path:
        return
    try:
        Toml(path, must_exist=True, use_commands_as_keys=False)(app, commands, arguments)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SettingsError(f"{CONFIG_PATH} must name a readable TOML file") from None
