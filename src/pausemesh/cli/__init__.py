"""The command ``pausemesh``; each of its commands is a file here, loaded when it is called."""

from typing import Final

from cyclopts import App

from pausemesh import __version__

_EXAMPLES: Final = """Examples:

    pausemesh demo

    pausemesh demo --keep ./last-demo --seed 7

    pausemesh demo --json

    pausemesh version
"""

app: Final = App(
    name="pausemesh",
    help="Durable questions for agents: one answer gets through, one worker goes on with it.",
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
    version=__version__,
)
app.command("pausemesh.cli.demo.command:demo", name="demo")
app.command("pausemesh.cli.version:version", name="version")


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code; 1 where there is no such command."""
    app()
