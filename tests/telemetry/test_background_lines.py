"""A log that nobody reads stops nobody."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from pausemesh.telemetry.background_lines import LINES_MOST, BackgroundLines
from pausemesh.telemetry.log import configure_log, logger
from tests.server.harness import Client

OURS = logger("pausemesh.test")
LONG = "x" * 400


@pytest.fixture
def pipe() -> Iterator[tuple[TextIO, TextIO]]:
    """A pipe; nobody reads it unless the test does."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as reader, os.fdopen(writing, "w") as writer:
        yield reader, writer


def test_lines_are_written_in_their_order_and_all_of_them_before_the_end() -> None:
    stream = io.StringIO()
    restore = configure_log("info", stream, in_background=True)
    for number in range(500):
        OURS.info("request ended", status=number)
    restore()
    assert [json.loads(line)["status"] for line in stream.getvalue().splitlines()] == [*range(500)]
    OURS.info("later")
    assert "later" not in stream.getvalue()


def test_whoever_logs_is_never_held_up_and_learns_how_many_lines_were_dropped(pipe: tuple[TextIO, TextIO]) -> None:
    reader, writer = pipe
    restore = configure_log("info", writer, in_background=True)
    many = 3 * LINES_MOST
    for number in range(many):
        OURS.info("request ended", status=number, route=LONG)
    restore()  # in two seconds, with a pipe that is full
    read: list[str] = []
    dropped = 0
    for line in reader:
        record = json.loads(line)
        if "dropped" in record:
            dropped = record["dropped"]
            break
        read.append(line)
    assert dropped > 0
    while len(read) + dropped < many:
        read.append(reader.readline())
    assert [json.loads(line)["status"] for line in read] == [*range(many - dropped)]


def test_a_stream_that_fails_loses_its_lines_and_nothing_else() -> None:
    stream = io.StringIO()
    stream.close()
    lines = BackgroundLines(stream, str)
    lines.put("a\n")
    lines.close()
    assert "pausemesh-log" not in {thread.name for thread in threading.enumerate()}


def test_a_server_whose_standard_error_nobody_reads_answers_and_ends(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    words = ["serve", "--port", "0", "--database-path", str(tmp_path / "q.db"), "--log-level", "debug"]
    server = subprocess.Popen(
        [sys.executable, "-m", "pausemesh", *words, "--port-file", str(port_file)],
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.readline()
        while not port_file.exists() or not port_file.read_text(encoding="ascii"):
            assert server.poll() is None
        with Client(int(port_file.read_text(encoding="ascii"))) as client:
            for _ in range(1_000):
                assert client.get("/healthz").status == 200
        server.terminate()
        assert server.wait(30) == 0
        assert 0 < server.stderr.read().count(b"/healthz") < 1_000  # the pipe was full before the end
    finally:
        server.kill()
        server.communicate()
