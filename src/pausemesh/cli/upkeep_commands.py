"""The commands for who looks after a database: their names, help and examples."""

from typing import Final

from cyclopts import App

from pausemesh.cli.exit_codes import epilogue

_VERIFY: Final = (
    "Check everything in a database against its log.\n\n"
    "It changes nothing, may run beside servers, and tells places and reasons, never a value."
)
_REBUILD: Final = (
    "Write anew, from the log, what questions are found by, where it is damaged or lost.\n\n"
    "It may run beside servers, and overwrites nothing that they do. Events are never changed: what is wrong with them "
    "cannot be mended, and is told."
)
_DOCTOR: Final = (
    "Look at this machine, a database and the settings, and say what to do.\n\n"
    "It changes nothing. Each check is ok, warn or fail; only a failed one makes the exit code 9."
)
_MIGRATE: Final = (
    "Make the schema of a PostgreSQL database, or bring it up to date.\n\n"
    "PAUSEMESH_MIGRATION_DATABASE_URL, or the file that PAUSEMESH_MIGRATION_DATABASE_URL_FILE names, has its address, "
    "with a role that may create the schema. It may be run again, and by several at once."
)
_COMMANDS: Final = (
    (
        "migrate",
        _MIGRATE,
        ("pausemesh migrate", "pausemesh migrate --schema trips --json", "pausemesh migrate --print-roles --role web"),
    ),
    ("verify", _VERIFY, ("pausemesh verify", "pausemesh verify --database-path copy.db --json")),
    ("rebuild", _REBUILD, ("pausemesh rebuild --dry-run", "pausemesh rebuild", "pausemesh rebuild --json")),
    (
        "doctor",
        _DOCTOR,
        ("pausemesh doctor", "pausemesh doctor --database-path copy.db --json"),
    ),
)


def register_upkeep_commands(app: App) -> None:
    """Add the commands; each is loaded when it is called."""
    for name, text, examples in _COMMANDS:
        app.command(f"pausemesh.cli.{name}:{name}", name=name, help=text, help_epilogue=epilogue(*examples))
