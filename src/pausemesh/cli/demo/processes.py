"""The demo's child processes: started, heard, killed by their own id, and always reaped."""

import asyncio
import json
import signal
import sys
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from pausemesh.cli.demo.wire import Step

Line: TypeAlias = dict[str, Any]

_SILENCE_SECONDS: Final = 20.0
"""How long a child may say nothing while something is expected of it."""


class BrokenRoundError(Exception):
    """A process did not do what its round needs; the message says which and what."""


class Child:
    """A process of the demo.

    Attributes:
        name: for messages.
        said: all that it said so far.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.said: list[Line] = []
        self._process = process

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def until(self, *steps: Step) -> Line:
        """Return the next line that reports one of these steps; lines before it are only kept.

        Raises:
            BrokenRoundError: it failed, ended, or stayed silent for too long.
        """
        wanted = " or ".join(steps)
        while True:
            line = await self._next(wanted)
            if line["step"] in steps:
                return line
            if line["step"] == Step.FAILED:
                raise BrokenRoundError(f"{self.name} failed before it was {wanted}: {line['code']} {line['message']}")

    def reported(self, step: Step, **members: Any) -> Line | None:
        """Return the first line so far that reports a step with these members, if there is one."""
        matching = (line for line in self.said if line["step"] == step and members.items() <= line.items())
        return next(matching, None)

    def tell(self, **message: Any) -> None:
        """Send it a line; a message without members tells it to go on."""
        assert self._process.stdin is not None, "the pipe was asked for"
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def stop(self) -> None:
        """Let it stand still wherever it is, and not even notice."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it run on."""
        self._process.send_signal(signal.SIGCONT)

    async def kill(self) -> int:
        """Kill it with -9, and return how it ended: minus the signal, or its exit code."""
        if self._process.returncode is None:
            self._process.kill()
        return await self._process.wait()

    async def _next(self, wanted: str) -> Line:
        assert self._process.stdout is not None, "the pipe was asked for"
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                text = await self._process.stdout.readline()
        except TimeoutError:
            raise BrokenRoundError(f"{self.name} was silent for {_SILENCE_SECONDS:g} s and not {wanted}") from None
        if not text:
            code = await self._process.wait()
            raise BrokenRoundError(f"{self.name} ended with {code} before it was {wanted}")
        line: Line = json.loads(text)
        self.said.append(line)
        return line


class Children:
    """All processes of a demo; none of them outlives the block."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    async def start(self, module: str, argument: str, *, name: str) -> Child:
        """Start a module of this package as a process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            f"{__package__}.{module}",
            argument,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C in a terminal reaches a whole group; here it is for the parent alone, which then ends the others.
            process_group=0,
        )
        child = Child(name, process)
        self._children.append(child)
        return child

    async def __aenter__(self) -> Self:
        """Begin with none."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Kill and reap whoever still runs."""
        await asyncio.gather(*(child.kill() for child in self._children))
