"""How every command ends: with what it did, or with one clear line on the standard error, and with its exit code."""

import os
import sys
from collections.abc import Callable

from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.refusal import Refused, refused
from pausemesh.cli.terminal import prepare_streams, print_json
from pausemesh.core.errors import PauseMeshError


def run(work: Callable[[], Exit | None], *, as_json: bool) -> int:
    """Do the work and return the exit code; a refusal is printed to the standard error, as JSON where asked."""
    prepare_streams()
    try:
        ended = work() or Exit.FINE
        sys.stdout.flush()
        return int(ended)
    except (PauseMeshError, Refused) as error:
        refusal = refused(error) if isinstance(error, PauseMeshError) else error
        if as_json:
            print_json(dict(refusal.problem), sys.stderr)
        else:
            print(f"pausemesh: {refusal}", file=sys.stderr)
        return int(refusal.exit)
    except EOFError:
        print("\nNothing was sent.", file=sys.stderr)
        return int(Exit.NOT_CONFIRMED)
    except BrokenPipeError:
        # Whoever reads has seen enough; what is still in the buffer must not be tried again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.FINE)
