"""How every command ends: with what it did, or with one clear line on the standard error, and with its exit code."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Final

from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.refusal import Refused, refused
from pausemesh.cli.terminal import is_closed, let_go, prepare_streams, print_json
from pausemesh.core.errors import PauseMeshError

_LOST: Final = "Its output could not be written"
_CHANGED: Final = "what was asked is perhaps recorded; look before it is repeated"


def run(work: Callable[[], Exit | None], *, as_json: bool, changes: bool = False) -> int:
    """Do the work and return the exit code; a refusal is printed to the standard error, as JSON where asked.

    Args:
        work: does it and prints what came of it.
        as_json: print a refusal as a problem document.
        changes: whether something may have been recorded by the time that the output fails.
    """
    prepare_streams()
    try:
        ended = work() or Exit.FINE
        sys.stdout.flush()
        return int(ended)
    except (PauseMeshError, Refused) as error:
        return int(_refuse(refused(error) if isinstance(error, PauseMeshError) else error, as_json=as_json))
    except EOFError:
        _say("\nNothing was sent.")
        return int(Exit.NOT_CONFIRMED)
    except OSError as error:
        return int(_output_lost(error, changes=changes))


@contextlib.contextmanager
def whole_output() -> Iterator[None]:
    """Let a block end the process clearly where its output, of help for instance, cannot be written.

    Raises:
        SystemExit: it could not; with the code of FINE where whoever reads has seen enough.
    """
    prepare_streams()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        sys.exit(int(_output_lost(error, changes=False)))


def require_output() -> None:
    """Pass where the standard output takes something, as far as that can be known before something is written.

    Raises:
        Refused: it is closed, or nothing can be written to it.
    """
    try:
        if is_closed(sys.stdout):
            raise Refused({"title": f"{_LOST}: it is closed; nothing was changed.", "code": "OUTPUT_UNAVAILABLE"})
        with contextlib.suppress(ValueError):  # it is no file
            os.write(sys.stdout.fileno(), b"")
    except BrokenPipeError:
        return
    except OSError as error:
        title = f"{_LOST}: {error.strerror}; nothing was changed."
        raise Refused({"title": title, "code": "OUTPUT_UNAVAILABLE"}) from None


def _refuse(refusal: Refused, *, as_json: bool) -> Exit:
    if as_json:
        with _unheard():
            print_json(dict(refusal.problem), sys.stderr)
    else:
        _say(f"pausemesh: {refusal}")
    return refusal.exit


def _output_lost(error: OSError, *, changes: bool) -> Exit:
    """Say that the output failed, and return how the command ends; a reader who has seen enough is no failure."""
    let_go(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return Exit.FINE
    _say(f"pausemesh: {_LOST}: {error.strerror}{f'; {_CHANGED}' if changes else ''}. [OUTPUT_UNAVAILABLE]")
    return Exit.UNKNOWN if changes else Exit.UNAVAILABLE


def _say(line: str) -> None:
    with _unheard():
        print(line, file=sys.stderr)


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Go on where not even the standard error can be written: the exit code is all that is left."""
    try:
        yield
    except OSError:
        let_go(sys.stderr)
