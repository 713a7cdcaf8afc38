"""The command ``pausemesh``; each of its commands is a file here, loaded when it is called."""

import sys


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code; 1 where the words make no command."""
    # Processes that the demo starts come by here too, and have no use for a command line.
    from cyclopts import CycloptsError  # noqa: PLC0415 - see above

    from pausemesh.cli.app import app  # noqa: PLC0415 - see above

    try:
        app(exit_on_error=False)
    except CycloptsError:
        sys.exit(1)
