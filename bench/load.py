"""A lean client in a process of its own: connections that are kept, each with one request under way at a time.

``python -m bench.load`` with ``--kind echo``, or ``cycle``: create for some seconds, then resume what was created.
"""

import argparse
import asyncio
import dataclasses
import itertools
import json
import re
import time
from collections.abc import Iterator
from typing import Any, Final, cast

import uvloop

from bench.servers import cpu_seconds

BODY: Final = {
    "payload": {"kind": "input", "message": "Which flight shall it be?", "choices": ["AZ1", "AZ2", "AZ3"]},
    "correlationId": "trip-4711",
}
_PATH: Final = "/v1/continuations"
_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: ([0-9]+)\r")


@dataclasses.dataclass(slots=True)
class Work:
    """Requests to send, and what came of them until the time is over."""

    requests: Iterator[bytes]
    ends: float
    seconds: list[float] = dataclasses.field(default_factory=list)
    bodies: list[bytes] = dataclasses.field(default_factory=list)
    refused: int = 0


class Caller(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._buffer = b""
        self._begun = 0.0
        self._work: Work
        self._ended: asyncio.Future[None]
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail, where there was more to do."""
        if not self._ended.done():
            self._ended.set_exception(error or ConnectionError("the server hung up"))

    def call(self, work: Work) -> "asyncio.Future[None]":
        """Send one request after the other, until there is none or the time is over."""
        self._work, self._ended = work, asyncio.get_running_loop().create_future()
        self._next(time.perf_counter())
        return self._ended

    def close(self) -> None:
        """Let it go."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take an answer, and send the next request at once."""
        self._buffer = self._buffer + data if self._buffer else data
        if not is_whole(self._buffer):
            return
        now, whole, self._buffer = time.perf_counter(), self._buffer, b""
        self._work.seconds.append(now - self._begun)
        self._work.bodies.append(whole)
        self._work.refused += not whole.startswith(b"HTTP/1.1 20")
        self._next(now)

    def _next(self, now: float) -> None:
        request = next(self._work.requests, None) if now < self._work.ends else None
        if request is None:
            self._ended.set_result(None)
            return
        self._begun = now
        self._transport.write(request)


def is_whole(data: bytes) -> bool:
    """Tell whether an answer has come to its end."""
    head = data.find(_HEAD_END)
    found = _LENGTH.search(data, 0, head + len(_HEAD_END)) if head > 0 else None
    return found is not None and len(data) >= head + len(_HEAD_END) + int(found[1])


def request_of(path: str, body: Any, *headers: str) -> bytes:
    """Return the bytes of a POST."""
    content = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "host: 127.0.0.1",
        "content-type: application/json",
        f"content-length: {len(content)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def main(given: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then measure; each measurement has requests, seconds, percentiles, and the server's CPU time."""
    loop = asyncio.get_running_loop()
    callers = [(await loop.create_connection(Caller, "127.0.0.1", given.port))[1] for _ in range(given.connections)]
    asking = request_of(_PATH, BODY, f"authorization: Bearer {given.key}")
    await _measure(callers, itertools.repeat(asking), given.seconds / 4, given.pid)
    work, measured = await _measure(callers, itertools.repeat(asking), given.seconds, given.pid)
    found = {"echo" if given.kind == "echo" else "create": measured}
    if given.kind == "cycle":
        resuming = iter([_resume_of(body, given.key) for body in work.bodies])
        _, found["resume"] = await _measure(callers, resuming, given.seconds, given.pid)
    for caller in callers:
        caller.close()
    return found


def _resume_of(created: bytes, key: str) -> bytes:
    answer = json.loads(created.partition(_HEAD_END)[2])
    path = f"{_PATH}/{answer['continuation']['continuationId']}/resume"
    credentials = (f"authorization: PauseMesh {answer['resumeToken']}", f"x-api-key: {key}")
    return request_of(path, {"payload": {"flight": "AZ1"}}, *credentials, "idempotency-key: callback-1")


async def _measure(
    callers: list[Caller], requests: Iterator[bytes], seconds: float, pid: int
) -> tuple[Work, dict[str, float]]:
    cpu, begun = cpu_seconds(pid), time.perf_counter()
    work = Work(requests, begun + seconds)
    await asyncio.gather(*[caller.call(work) for caller in callers])
    elapsed = time.perf_counter() - begun
    if work.refused:
        message = f"{work.refused} requests were refused, like {work.bodies[-1].decode()}"
        raise AssertionError(message)
    times = sorted(work.seconds)
    measured = {
        "per_second": len(times) / elapsed,
        "p50_milliseconds": times[len(times) // 2] * 1_000,
        "p99_milliseconds": times[len(times) * 99 // 100] * 1_000,
        "cpu_microseconds": (cpu_seconds(pid) - cpu) / len(times) * 1_000_000,
    }
    return work, measured


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.load", description=__doc__)
    parser.add_argument("--kind", choices=["echo", "cycle"], required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True, help="of the server, whose CPU time is read")
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--key", default="none", help="API key")
    return parser


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(main(_parser().parse_args()))))
