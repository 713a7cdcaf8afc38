"""The page about the settings, made from their one definition."""

import dataclasses
import typing
from typing import Any, Final

from cyclopts import Parameter

from pausemesh.server.settings import ENVIRONMENT_PREFIX, Settings

_HEAD: Final = """# Settings

Of `pausemesh serve` and `pausemesh dev`. Each is a flag, an environment variable and an entry of the TOML file that
`PAUSEMESH_CONFIG_PATH` names; a flag wins over the environment, and that over the file. An entry of the file or
a variable `PAUSEMESH_…` that is unknown, a number that is none, or a value out of its range stops the start with one
line. `.env.example` lists them all.

A PostgreSQL database is named by `PAUSEMESH_DATABASE_URL`, or by the file that `PAUSEMESH_DATABASE_URL_FILE` names, and
by nothing else: a flag or a settings file could be read by others. `pausemesh migrate` reads
`PAUSEMESH_MIGRATION_DATABASE_URL`, or its `_FILE`, in the same way, and no other command does. See [run with
PostgreSQL](../howto/run-with-postgresql.md).

| variable | flag | entry | default | what it is |
|---|---|---|---|---|
"""


def settings_page() -> str:
    """Return the page."""
    hints = typing.get_type_hints(Settings, include_extras=True)
    rows = [_row(field, hints[field.name]) for field in dataclasses.fields(Settings)]
    return _HEAD + "\n".join(rows) + "\n"


def _row(field: dataclasses.Field[Any], hint: Any) -> str:
    parameter = next(one for one in hint.__metadata__ if isinstance(one, Parameter))
    default = "" if field.default is None else f"`{field.default}`"
    name = field.name
    flag = name.replace("_", "-")
    return f"| `{ENVIRONMENT_PREFIX}{name.upper()}` | `--{flag}` | `{name}` | {default} | {parameter.help} |"
