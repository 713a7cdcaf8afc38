"""Where a command prints and asks."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable
from typing import Final, TextIO, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from pausemesh.cli.plain_text import plain, plain_json
from pausemesh.core.values import JsonValue

PLAIN_WIDTH: Final = 100
_BAR: Final = "│ "
_STANDARD_STREAMS: Final = 3


class PipeConsole(Console):
    """A console that leaves it to its command how to end where nobody reads on."""

    def on_broken_pipe(self) -> None:
        """Let the caller know."""
        raise BrokenPipeError


def console_of(file: TextIO) -> Console:
    """Return a console that is wide enough for a table where no terminal says how wide it is.

    It shows everything as it is written: markup, emoji codes and highlighting are off.
    """
    width = None if file.isatty() else PLAIN_WIDTH
    return PipeConsole(file=file, width=width, markup=False, emoji=False, highlight=False)


def standard_console() -> Console:
    """Return the console of the standard output."""
    return console_of(sys.stdout)


def is_interactive() -> bool:
    """Tell whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


class _Closed(io.TextIOBase):
    """Stands where this process got no standard output: Python itself would leave it out without a word."""

    def write(self, _text: str, /) -> int:
        """Refuse, as the system would.

        Raises:
            OSError: always.
        """
        raise OSError(errno.EBADF, "it is closed")


def is_closed(stream: TextIO) -> bool:
    """Tell whether this process got no such stream."""
    return isinstance(stream, _Closed)


def let_go(stream: TextIO) -> None:
    """Let what is still in a stream's buffer go nowhere, so that it is not tried again at the exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def prepare_streams() -> None:
    """Let what the streams' encoding cannot write appear as an escape, instead of ending the command.

    A standard output that this process did not get refuses what is written; a standard error takes it to nowhere, and
    a standard input is empty. Their descriptors are occupied, so that no file and no connection gets their numbers.
    """
    for number in range(_STANDARD_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - it is open until the exit
    if sys.stdout is None:
        sys.stdout = cast("TextIO", _Closed())
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it is open until the exit
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(value: JsonValue, file: TextIO | None = None) -> None:
    """Print JSON, as ASCII where the stream has no encoding for all of Unicode."""
    target = sys.stdout if file is None else file
    text = plain_json(value)
    with contextlib.suppress(LookupError):
        if not text.isascii() and "utf" not in (target.encoding or "").lower():
            text = plain_json(value, ascii_only=True)
    print(text, file=target)


def shown(text: str) -> Text:
    """Return a text from elsewhere in one line, harmless; a very long word is folded where it is printed."""
    return Text(plain(text), overflow="fold")


class Quoted:
    """Lines from elsewhere behind a bar, so that none of them can look like one of ours; long ones are folded."""

    def __init__(self, lines: Iterable[str], style: str = "") -> None:
        self._lines = tuple(lines)
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Fold the lines into the width that there is."""
        width = max(1, options.max_width - len(_BAR))
        for quoted in self._lines:
            folded = Text(quoted, style=self._style, overflow="fold").wrap(console, width)
            for part in folded or [Text()]:
                yield Text.assemble((_BAR, "dim"), part, overflow="fold")


def quoted_json(value: JsonValue) -> Quoted:
    """Return JSON from elsewhere behind a bar, whole."""
    return Quoted(plain_json(value).split("\n"))


def section(title: str, *content: RenderableType) -> Group:
    """Return a heading of ours and what stands under it."""
    return Group(Text(), Text(title, style="bold"), *content)
