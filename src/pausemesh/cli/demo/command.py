"""``pausemesh demo``."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TextIO

from rich.console import Console

from pausemesh import PauseMeshError
from pausemesh.cli.demo.plans import Plan
from pausemesh.cli.demo.report import Report
from pausemesh.cli.demo.rounds import Round
from pausemesh.cli.demo.story import DATABASE, LONGEST_SECONDS, tell_story
from pausemesh.cli.place import AsJson

_PLAIN_WIDTH: Final = 100
_SEEDS: Final = 10_000


class Lines:
    """Prints a line for each step, with the seconds since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._started

    def begin(self, chapter: str) -> None:
        """Print a chapter's heading."""
        self._console.print(f"\n{chapter}", style="bold", markup=False, highlight=False)

    def tell(self, plan: Plan, news: str) -> None:
        """Print a step."""
        line = f"{self.seconds:5.1f} s  round {plan.number}  {news}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def demo(
    *,
    keep: Path | None = None,
    seed: int | None = None,
    as_json: AsJson = False,
) -> int:
    """Run the demo; return 0 where all is as it must be, else 1.

    Args:
        keep: a folder in which the database and the airline's book stay; without it they are removed.
        seed: decides which answers come in which order; drawn where it is left out.
        as_json: print the result as JSON; the steps go to the standard error then.
    """
    if os.name != "posix":
        print("The demo kills and stops its processes as only POSIX systems can.", file=sys.stderr)
        return 1
    report_to = _console(file=sys.stdout)
    lines = Lines(_console(file=sys.stderr) if as_json else report_to)
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pausemesh-demo-")))
        problem = _prepare(folder)
        if problem is not None:
            print(problem, file=sys.stderr)
            return 1
        report = _run(folder, random.randrange(_SEEDS) if seed is None else seed, lines)  # noqa: S311 - no secret
    if as_json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        report.print_to(report_to)
    return report.exit_code


def _console(file: TextIO) -> Console:
    """Return a console that is wide enough for the table where no terminal says how wide it is."""
    return Console(file=file, width=None if file.isatty() else _PLAIN_WIDTH)


def _prepare(folder: Path) -> str | None:
    """Make the folder; return why it cannot be used, if so."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"The folder {folder} cannot be made: {error.strerror}."
    if (folder / DATABASE).exists():
        return f"There is a {DATABASE} in {folder} already; name another folder."
    return None


def _run(folder: Path, seed: int, lines: Lines) -> Report:
    rounds, trouble = tuple[Round, ...](), None
    try:
        rounds = asyncio.run(_until_terminated(tell_story(folder, seed=seed, progress=lines)))
    except TimeoutError:
        trouble = f"it took longer than {LONGEST_SECONDS:g} s"
    except PauseMeshError as error:
        trouble = f"it ended early: {error}"
    return Report(rounds=rounds, seed=seed, seconds=lines.seconds, trouble=trouble)


async def _until_terminated(story: Coroutine[Any, Any, tuple[Round, ...]]) -> tuple[Round, ...]:
    """Await the story; a SIGTERM ends it as Ctrl-C does, so that no process is left behind."""
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    with contextlib.suppress(NotImplementedError):  # the loops of Windows know no signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await story
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
