"""What the tutorial and the README say is typed into terminals as it is printed, with kill -9 where they say so."""

import contextlib
import json
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.environment import without_settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial" / "first-pause.md"
README = re.compile(r"^```(bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r'^```(?:bash|python) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SERVER, AGENT, YOURS = "the server's terminal", "the agent's terminal", "your terminal"
BASH = (
    sys.executable,
    "-c",
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])",
    *("bash", "--norc", "--noprofile", "-i"),
)
"""Started in a session of its own, the shell takes the terminal for its own, so that it has jobs."""


class Reader:
    """Somebody who follows the page: three terminals in one folder, and the next block at each step."""

    def __init__(
        self, folder: Path, terminals: dict[str, Terminal], port: int, blocks: Iterable[tuple[str, str]]
    ) -> None:
        self._folder = folder
        self._terminals = terminals
        self._port = port
        self._blocks = iter(blocks)
        self.key = ""

    def next(self, title: str) -> str:
        """Return the next block, which must be for this place."""
        for terminal in self._terminals.values():
            terminal.drain()
        found, code = next(self._blocks)
        assert found == title
        return str(code).replace("8787", str(self._port)).replace("pmk_...", self.key)

    def begin(self, title: str) -> Terminal:
        """Type the next block into its terminal, and go on while it runs."""
        terminal = self._terminals[title]
        terminal.type(self.next(title).removesuffix("\n"))
        return terminal

    def do(self, title: str) -> str:
        """Type the next block into its terminal, and return what it printed when it has ended."""
        return self.type(title, self.next(title).removesuffix("\n"))

    def type(self, title: str, line: str) -> str:
        """Type a line, and return what it printed when it has ended."""
        terminal = self._terminals[title]
        terminal.type(line)
        terminal.type("echo ended-$((40 + 2))")
        return terminal.see("ended-42")

    def kill(self, title: str) -> None:
        """Stop what runs in a terminal with Ctrl-Z, and kill it as the page says."""
        self._terminals[title].press("z")
        self._terminals[title].see("Stopped")

    def save(self, name: str) -> None:
        """Save the next block."""
        (self._folder / name).write_text(self.next(name), encoding="utf-8")

    @property
    def is_through(self) -> bool:
        return next(self._blocks, None) is None


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextlib.contextmanager
def reading(folder: Path, blocks: Iterable[tuple[str, str]]) -> Iterator[Reader]:
    """A reader who has installed PauseMesh: this very environment, under the names that the pages give it."""
    assert (Path(sys.prefix) / "bin" / "activate").exists()
    for name in ("env", ".venv"):
        (folder / name).symlink_to(sys.prefix)
    port = free_port()
    kept = without_settings()
    kept |= {"PAUSEMESH_PORT": str(port), "NO_PROXY": "127.0.0.1", "PS1": "$ ", "HISTFILE": ""}
    with contextlib.ExitStack() as stack:
        terminals = {
            title: stack.enter_context(Terminal(env=kept, folder=folder, program=BASH))
            for title in (SERVER, AGENT, YOURS)
        }
        yield Reader(folder, terminals, port, blocks)
        for terminal in terminals.values():
            terminal.press("c")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader of the tutorial."""
    with reading(tmp_path, BLOCK.findall(PAGE.read_text(encoding="utf-8"))) as found:
        yield found


def start_the_server(reader: Reader) -> None:
    server = reader.begin(SERVER)
    before = server.see("PauseMesh listens on http://")
    shown = re.search(r"shown once: (pmk_[0-9A-Za-z]+)", before)
    reader.key = reader.key if shown is None else shown[1]


def approve(reader: Reader) -> None:
    """Answer as the page says: yes, no note, and yes."""
    say_yes(reader.begin(YOURS))


def say_yes(yours: Terminal) -> None:
    yours.see("> ")
    yours.type("yes")
    yours.see("> ")
    yours.type("")
    yours.see("Send it?")
    yours.type("yes")


def test_it_works_as_typed_and_each_refund_happens_once(reader: Reader, tmp_path: Path) -> None:
    refunds = tmp_path / "refunds.txt"
    install = reader.next(SERVER).splitlines()
    assert "../first-pause/env/bin/pip install ." in install  # done here, in a way
    reader.type(SERVER, install[-1])
    start_the_server(reader)
    assert "as soon as an agent asks" in reader.do(YOURS)
    reader.do(AGENT)
    reader.save("agent.py")
    reader.begin(AGENT).see("asked: refund-A-17")
    assert "Refund order A-17?" in reader.do(YOURS)

    for title in (AGENT, SERVER):
        reader.kill(title)
        reader.do(title)
    agent = reader.begin(AGENT)
    agent.see("the server is away")
    start_the_server(reader)
    agent.see("asked: refund-A-17")
    approve(reader)
    agent.see("done: 40 euros for A-17")
    assert reader.do(YOURS).count("A-17 40") == 1
    assert "done before" in reader.do(AGENT)

    assert "completed" in reader.do(YOURS)
    assert 'noun="effect",status="completed"} 1.0' in reader.do(YOURS)
    assert "<h1" in (tmp_path / "docs.html").read_text(encoding="utf-8")

    agent = reader.begin(AGENT)
    agent.see("asked: refund-A-18")
    approve(reader)
    agent.see("refunding")
    reader.kill(AGENT)
    assert "EFFECT_UNKNOWN" in reader.do(AGENT)
    assert "A-18" not in reader.do(YOURS)
    assert '"status":"failed"' in reader.do(YOURS)
    assert "done: 40 euros for A-18" in reader.do(AGENT)
    assert refunds.read_text(encoding="utf-8") == "A-17 40\nA-18 40\n"
    assert reader.is_through


def test_what_the_readme_shows_works_as_typed(tmp_path: Path) -> None:
    blocks = README.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) == 2
    with reading(tmp_path, ((title, code) for title, (_, code) in zip((SERVER, YOURS), blocks, strict=True))) as reader:
        start_the_server(reader)
        yours = reader.begin(YOURS)
        yours.see("1 question waits")
        say_yes(yours)
        yours.see("Recorded")
        reader.type(YOURS, "pausemesh show wipe-7 --json > shown.json")
    shown = json.loads((tmp_path / "shown.json").read_text(encoding="utf-8"))["continuation"]
    assert (shown["status"], shown["resumePayload"]) == ("resumed", {"approved": True})
