"""The command line: which commands there are, and what their help says."""

from typing import Final

from cyclopts import App

from pausemesh import __version__
from pausemesh.cli.operator_commands import register_operator_commands
from pausemesh.cli.serving_commands import register_serving_commands
from pausemesh.cli.terminal import PipeConsole
from pausemesh.cli.upkeep_commands import register_upkeep_commands

_EXAMPLES: Final = """Examples:

    pausemesh demo

    pausemesh inbox --watch

    pausemesh answer ID

    pausemesh answer --help
"""
_DEMO: Final = (
    "Show questions survive, be answered once and be carried out once.\n\n"
    "Real processes work on one SQLite file: they ask, are killed with -9, answer all at once, and book. "
    "It takes about ten seconds and ends with a table; the exit code is 1 where anything is not as it must be."
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
    console=PipeConsole(),
)
register_serving_commands(app)
app.command("pausemesh.cli.demo.command:demo", name="demo", help=_DEMO, help_epilogue=_DEMO_EXAMPLES)
app.command("pausemesh.cli.help:show_help", name="help", help="Show what there is, or how one command is used.")
app.command("pausemesh.cli.version:version", name="version", help="Print the version.", help_epilogue="")
register_operator_commands(app)
register_upkeep_commands(app)
app.register_install_completion_command(help="Install completion for your shell.", help_epilogue="")
