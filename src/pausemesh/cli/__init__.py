"""The command ``pausemesh``; each of its commands is a file here, loaded when it is called."""

import sys
from typing import Final

from cyclopts import App, CycloptsError

from pausemesh import __version__

_EXAMPLES: Final = """Examples:

    pausemesh demo

    pausemesh version

    pausemesh demo --help
"""
_DEMO: Final = (
    "Show questions survive, be answered once and be carried out once.\n\n"
    "Real processes work on one SQLite file: they ask, are killed with -9, answer all at once, and book. "
    "It takes less than 30 seconds and ends with a table; the exit code is 1 where anything is not as it must be."
)
_DEMO_EXAMPLES: Final = """Examples:

    pausemesh demo

    pausemesh demo --keep ./last-demo --seed 7

    pausemesh demo --json
"""

app: Final = App(
    name="pausemesh",
    help="Durable questions for agents: one answer gets through, one worker goes on with it.",
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
    version=__version__,
)
app.command("pausemesh.cli.demo.command:demo", name="demo", help=_DEMO, help_epilogue=_DEMO_EXAMPLES)
app.command("pausemesh.cli.version:version", name="version", help="Print the version.", help_epilogue="")


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code; 1 where the words make no command."""
    try:
        app(exit_on_error=False)
    except CycloptsError:
        sys.exit(1)
