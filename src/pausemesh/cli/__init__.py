"""The command ``pausemesh``; each of its commands is a file here, loaded when it is called."""

import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> None:
    """Run the command that ``words``, else ``sys.argv``, name, and exit with its code; 1 where they make none."""
    # Processes that the demo starts come by here too, and have no use for a command line.
    from cyclopts import CycloptsError  # noqa: PLC0415 - see above

    from pausemesh.cli.app import app  # noqa: PLC0415 - see above
    from pausemesh.cli.ending import whole_output  # noqa: PLC0415 - see above
    from pausemesh.server.settings import SettingsError  # noqa: PLC0415 - see above

    try:
        with whole_output():
            app(words, exit_on_error=False)
    except CycloptsError:
        sys.exit(1)
    except SettingsError as error:
        print(f"pausemesh: {error}", file=sys.stderr)
        sys.exit(1)
