"""Forked processes: heard through a pipe, told through another, ended by their own id, and always reaped."""

import json
import os
import select
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

Line: TypeAlias = dict[str, Any]

_CHUNK_BYTES: Final = 1 << 16
_SILENCE_SECONDS: Final = 120.0
"""How long a child may say nothing while something is expected of it."""

_SECONDS_TO_END: Final = 5.0


class ChildError(Exception):
    """A child failed, ended too early, or stayed silent."""


class Voice:
    """A child's end of the pipes; nothing is buffered, so what was said is known even if the child is killed next."""

    def __init__(self, saying: int, hearing: int) -> None:
        self._saying = saying
        self._hearing = os.fdopen(hearing, "rb")

    def say(self, **line: Any) -> None:
        """Say a line. A killed child may have said half of it, which then is no line."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._saying, data) :]

    def fileno(self) -> int:
        """Return what a loop can watch for the parent's next line."""
        return self._hearing.fileno()

    def hear(self) -> Line | None:
        """Wait for a line from the parent; None where it has no more."""
        text = self._hearing.readline()
        return json.loads(text) if text else None


class Child:
    """A parent's view of a child.

    Attributes:
        ended: it will say no more.
        unheard: lines that came together with one that was waited for.
    """

    def __init__(self, name: str, pid: int, hearing: int, telling: int) -> None:
        self.name = name
        self.pid = pid
        self.ended = False
        self.unheard: deque[Line] = deque()
        self._hearing = hearing
        self._telling = telling
        self._rest = b""
        self._status: int | None = None

    def fileno(self) -> int:
        """Return what ``select`` looks at."""
        return self._hearing

    def tell(self, **line: Any) -> None:
        """Give it a line."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._telling, data) :]

    def lines(self) -> list[Line]:
        """Return the lines that have come, waiting for the first of them; none at its end.

        Raises:
            ChildError: it says that it failed.
        """
        chunk = os.read(self._hearing, _CHUNK_BYTES)
        self.ended = not chunk
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        found: list[Line] = [json.loads(text) for text in whole]
        for line in found:
            if "failed" in line:
                raise ChildError(f"{self.name}: {line['failed']}")
        return found

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it was reaped."""
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def reap(self) -> int:
        """Wait for its end and return how it ended: its exit code, or minus the signal."""
        if self._status is None:
            _, status = os.waitpid(self.pid, 0)
            self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def kill(self) -> list[Line]:
        """Kill it with -9, reap it, and return what it still had said."""
        self.send(signal.SIGKILL)
        self.reap()
        found: list[Line] = []
        while not self.ended:
            found += self.lines()
        return found

    def let_go(self) -> None:
        """Close this process's ends of the pipes."""
        for descriptor in (self._hearing, self._telling):
            with suppress(OSError):
                os.close(descriptor)


class Family:
    """All children of a block; none of them outlives it."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    def fork(self, name: str, work: Callable[[Voice], None]) -> Child:
        """Start a child that does some work and ends; this process must have no other threads."""
        hearing, saying = os.pipe()
        their_hearing, telling = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = _forked()
        if pid == 0:
            os.close(hearing)
            os.close(telling)
            for other in self._children:
                other.let_go()
            _do(work, Voice(saying, their_hearing))
        os.close(saying)
        os.close(their_hearing)
        child = Child(name, pid, hearing, telling)
        self._children.append(child)
        return child

    def forget(self, child: Child) -> None:
        """Let go of a child that was reaped."""
        assert child.reap() is not None, "it has ended"
        child.let_go()
        self._children.remove(child)

    def __enter__(self) -> Self:
        """Begin with none."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Kill and reap whoever still runs."""
        for child in self._children:
            child.send(signal.SIGKILL)
        for child in self._children:
            child.reap()
            child.let_go()


def heard(children: Sequence[Child], seconds: float = _SILENCE_SECONDS) -> list[tuple[Child, Line]]:
    """Return what any of the children say within so many seconds, as soon as one says something or has ended."""
    deadline = time.monotonic() + seconds
    listening = [child for child in children if not child.ended]
    found: list[tuple[Child, Line]] = []
    while not found and (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select(listening, [], [], left)
        found = [(child, line) for child in ready for line in child.lines()]
        if any(child.ended for child in listening):
            break
    return found


def one_from_each(children: Sequence[Child], wanted: str) -> list[Line]:
    """Wait for the next line of each child, and return them in order; what a child says beyond it is kept.

    Raises:
        ChildError: one ended, stayed silent, or said a line without the wanted member.
    """
    while missing := [child for child in children if not child.unheard]:
        ended = [child.name for child in missing if child.ended]
        found = heard(missing) if not ended else []
        for child, line in found:
            child.unheard.append(line)
        if ended or (not found and not any(child.ended for child in missing)):
            raise ChildError(f"{', '.join(ended) or 'somebody'} did not say {wanted}")
    lines = [child.unheard.popleft() for child in children]
    for child, line in zip(children, lines, strict=True):
        if wanted not in line:
            raise ChildError(f"{child.name} did not say {wanted}, but {sorted(line)}")
    return lines


def lines_of(child: Child, seconds: float = _SILENCE_SECONDS) -> Iterator[Line]:
    """Yield all that a child says until its end.

    Raises:
        ChildError: it failed, or said nothing for so long.
    """
    while True:
        found = heard([child], seconds)
        yield from (line for _, line in found)
        if child.ended:
            return
        if not found:
            raise ChildError(f"{child.name} said nothing for {seconds:g} s")


def in_lanes(work: Callable[[int], Line], lanes: int) -> list[Line]:
    """Do a work once a lane, each in a process of its own and all at once; return what each found.

    Raises:
        ChildError: one failed.
    """
    with Family() as family:
        children = [family.fork(f"lane {lane}", _Lane(work, lane)) for lane in range(lanes)]
        try:
            found = {child.name: line for child in children for line in lines_of(child, seconds=3_600)}
        except BaseException:
            _end(children)
            raise
        broken = [child.name for child in children if child.reap() != 0 or child.name not in found]
    if broken:
        raise ChildError(f"ended without a result: {', '.join(broken)}")
    return [found[child.name] for child in children]


def _forked() -> int:
    """Fork, and let nobody end this process meanwhile: what a handler raises in Python's own hooks of it is lost."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        return os.fork()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(lanes: Sequence[Child]) -> None:
    """Let lanes end their own children and remove their folders, for as long as that may take."""
    for lane in lanes:
        lane.send(signal.SIGTERM)
    for lane in lanes:
        with suppress(ChildError):
            deque(lines_of(lane, _SECONDS_TO_END), maxlen=0)


class _Lane:
    """What one lane does."""

    def __init__(self, work: Callable[[int], Line], lane: int) -> None:
        self._work = work
        self._lane = lane

    def __call__(self, voice: Voice) -> None:
        voice.say(**self._work(self._lane))


def _do(work: Callable[[Voice], None], voice: Voice) -> None:
    """Work, and end this process without anything of its parent's running once more."""
    status = 1
    try:
        work(voice)
        status = 0
    except BaseException:  # noqa: BLE001 - it is told to the parent
        with suppress(BaseException):
            voice.say(failed=traceback.format_exc())
    finally:
        os._exit(status)
