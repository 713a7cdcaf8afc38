"""Thousands of long-polls at once: what an idle one costs, and how soon it is answered once its question is decided."""

import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench.fill import fill, id_of
from bench.measure import Row, Sizes
from bench.servers import Server, file, make_key, product

Decide: TypeAlias = Callable[[str], float]
"""Decides a question, and returns when that began, by the clock that all processes share."""

_DESCRIPTORS_BESIDE: Final = 200


async def measure(folder: Path, sizes: Sizes) -> list[Row]:
    """Open the polls, let them be, then decide some of their questions one by one."""
    path = folder / "polls.db"
    await fill(path, sizes.polls)
    agent, editor = make_key(file(path), "viewer"), make_key(file(path), "editor")
    _allow_descriptors(sizes.polls + _DESCRIPTORS_BESIDE)
    with product(file(path)) as server:
        before = server.resident_bytes()
        with _poller(server, agent, sizes) as poller:
            opened = json.loads(_line(poller))["seconds"]
            rows = [Row(name=f"{sizes.polls:,} long-polls opened", value=sizes.polls / opened, unit="/s")]
            rows += _idle(server, before, sizes)
            numbers = itertools.count()
            rows += _wake(poller, _over_http(server, editor), numbers, "decided over HTTP", sizes)
            with _decider(path) as decide:
                rows += _wake(poller, decide, numbers, "decided by another process", sizes)
    return rows


def _idle(server: Server, before: int, sizes: Sizes) -> list[Row]:
    cpu, begun = server.cpu_seconds(), time.monotonic()
    time.sleep(sizes.seconds_idle)  # nothing is waited for: this is what is measured
    share = (server.cpu_seconds() - cpu) / (time.monotonic() - begun)
    kilobytes = (server.resident_bytes() - before) / sizes.polls / 1_024
    return [
        Row(name="memory of the server an idle poll", value=kilobytes, unit="KiB"),
        Row(name="CPU of the server while all polls idle", value=share * 100, unit="% of a core"),
    ]


def _wake(
    poller: "subprocess.Popen[str]", decide: Decide, numbers: Iterator[int], name: str, sizes: Sizes
) -> list[Row]:
    milliseconds = []
    for number in itertools.islice(numbers, sizes.wakes):
        begun = decide(id_of(number))
        woken = json.loads(_line(poller))
        assert woken["id"] == id_of(number), (woken, number)
        milliseconds.append((woken["at"] - begun) * 1_000)
    milliseconds.sort()
    spread = (milliseconds[0], milliseconds[-1])
    return [
        Row(name=f"{name} until the poll is answered, {word}", value=value, unit="ms", spread=spread)
        for word, value in (
            ("p50", milliseconds[len(milliseconds) // 2]),
            ("p99", milliseconds[len(milliseconds) * 99 // 100]),
        )
    ]


def _over_http(server: Server, key: str) -> Decide:
    connection = HTTPConnection("127.0.0.1", server.port)

    def call(method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Idempotency-Key": "k"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        return json.loads(answer.read())

    def decide(noun_id: str) -> float:
        path = f"/v1/continuations/{noun_id}"
        digest = call("GET", path)["continuation"]["shownDigest"]
        begun = time.monotonic()
        call("POST", f"{path}/answer", {"payload": {"flight": "AZ1"}, "shownDigest": digest})
        return begun

    return decide


@contextmanager
def _decider(path: Path) -> Iterator[Decide]:
    command = [sys.executable, "-m", "bench.decider", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None, "it is a pipe"
        _line(process)

        def decide(noun_id: str) -> float:
            assert process.stdin is not None, "it is a pipe"
            print(noun_id, file=process.stdin, flush=True)
            return float(_line(process))

        yield decide
        process.stdin.close()


@contextmanager
def _poller(server: Server, key: str, sizes: Sizes) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bench.poller", str(server.port), key, str(sizes.polls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None, "it is a pipe"
    said = process.stdout.readline()
    assert said, f"{process.args!r} ended"
    return said


def _allow_descriptors(wanted: int) -> None:
    """Let this process's children have so many open files, as far as the system allows it.

    Raises:
        AssertionError: it does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        assert hard >= wanted, f"{wanted} open files are needed; the system allows {hard}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
