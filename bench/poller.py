"""A process that holds thousands of long-polls, each on a question of its own: ``python -m bench.poller``.

It says how long it took to open them all, and then each question that was decided, with the time.
"""

import asyncio
import json
import re
import sys
import time
from typing import Final, cast

import uvloop

from bench.fill import id_of
from bench.load import is_whole

_OPENING_AT_ONCE: Final = 200
_WAIT_SECONDS: Final = 25
_RETRY_SECONDS: Final = 1.0
_ADDRESSES: Final = 4
_WAITING: Final = re.compile(rb"^pausemesh_waiting ([0-9.e+]+)$", re.MULTILINE)


class Poll(asyncio.Protocol):
    """One connection that polls on until its question is decided."""

    def __init__(self, number: int, key: str) -> None:
        self._id = id_of(number)
        path = f"/v1/continuations/{self._id}?wait={_WAIT_SECONDS}"
        self._request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n\r\n".encode()
        self._buffer = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Poll."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Say that it is decided, or poll again; later, where the server says that there are too many at once."""
        at = time.monotonic()
        self._buffer += data
        if not is_whole(self._buffer):
            return
        head, _, body = self._buffer.partition(b"\r\n\r\n")
        self._buffer = b""
        if head.startswith(b"HTTP/1.1 503"):
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._transport.write, self._request)
            return
        assert head.startswith(b"HTTP/1.1 200"), head
        if b'"status":"pending"' in body:
            self._transport.write(self._request)
        else:
            print(json.dumps({"id": self._id, "at": at}), flush=True)


async def main(port: int, key: str, polls: int) -> None:
    """Open all polls, and hold them until this process is ended."""
    loop, begun = asyncio.get_running_loop(), time.perf_counter()
    gate = asyncio.Semaphore(_OPENING_AT_ONCE)

    async def open_one(number: int) -> None:
        async with gate:
            source = (f"127.0.0.{2 + number % _ADDRESSES}", 0)
            await loop.create_connection(lambda: Poll(number, key), "127.0.0.1", port, local_addr=source)

    await asyncio.gather(*[open_one(number) for number in range(polls)])
    await _until_all_wait(port, key, polls)
    print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)
    await asyncio.Event().wait()


async def _until_all_wait(port: int, key: str, polls: int) -> None:
    """Ask the server until it says that so many wait."""
    request = f"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\r\n"
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.encode())
        told = await reader.read()
        writer.close()
        waiting = _WAITING.search(told)
        if waiting is not None and float(waiting[1]) >= polls:
            return
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
