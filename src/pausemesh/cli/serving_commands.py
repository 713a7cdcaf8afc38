"""The commands that start a server, and what their help says."""

from typing import Final

from cyclopts import App

from pausemesh.cli.configuration import read_environment, read_file

_SERVE: Final = (
    "Serve HTTP on this machine, until SIGTERM or SIGINT.\n\n"
    "Each setting is a flag, an environment variable PAUSEMESH_…, and an entry of the TOML file that "
    "PAUSEMESH_CONFIG_PATH names; a flag wins over the environment, and that over the file. "
    "PAUSEMESH_DATABASE_URL, or the file that PAUSEMESH_DATABASE_URL_FILE names, has the address of a PostgreSQL "
    "database, for which there is no flag."
)
_DEV: Final = "Serve HTTP like serve, with an admin's key that is made and shown at the first start."
_EXAMPLES: Final = """Examples:

    pausemesh serve

    pausemesh serve --port 9000 --database-path /var/lib/pausemesh/questions.db

    PAUSEMESH_LOG_LEVEL=warning pausemesh serve
"""


def register_serving_commands(app: App) -> None:
    """Add ``serve`` and ``dev``."""
    for name, words in (("serve", _SERVE), ("dev", _DEV)):
        app.command(
            f"pausemesh.cli.serve:{name}",
            name=name,
            help=words,
            help_epilogue=_EXAMPLES,
            config=(read_environment, read_file),
        )
