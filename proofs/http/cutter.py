"""A small proxy that cuts connections: before a request is through, while it is worked on, in and after its answer."""

import asyncio
import contextlib
import random
from collections import Counter
from typing import Final

from proofs.listening import Listening

_FATES: Final = {"pass": 45, "before": 8, "half": 7, "working": 20, "answering": 12, "after": 8}
_WORKING_SECONDS: Final = 0.006
_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length:"


class Cutter(Listening):
    """Listens on a port of its own, passes requests on to another, and cuts about every second one.

    Attributes:
        cuts: how many requests were cut, by where.
        is_calm: nothing is cut any more.
    """

    def __init__(self, upstream_port: int, seed: str) -> None:
        super().__init__()
        self.cuts: Counter[str] = Counter()
        self.is_calm = False
        self._upstream_port = upstream_port
        self._choices = random.Random(seed)

    @property
    def cut(self) -> int:
        """How many requests were cut."""
        return self.cuts.total()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self._upstream_port)
                ends.append(upstream)
                while not await self._pass_one(reader, writer, upstream_reader, upstream):
                    pass
        finally:
            for end in ends:
                if self._choices.random() < 0.5:
                    end.transport.abort()
                end.close()

    async def _pass_one(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> bool:
        """Pass one request and its answer on; True where the connection is to be cut now."""
        request = await _message(reader)
        [fate] = ["pass"] if self.is_calm else self._choices.choices([*_FATES], [*_FATES.values()])
        self.cuts[fate] += fate != "pass"
        if fate == "before":
            return True
        upstream.write(request[: len(request) // 2] if fate == "half" else request)
        await upstream.drain()
        if fate == "half":
            return True
        if fate == "working":
            await asyncio.sleep(self._choices.uniform(0, _WORKING_SECONDS))
            return True
        answer = await _message(upstream_reader)
        writer.write(answer[: self._choices.randrange(1, len(answer))] if fate == "answering" else answer)
        await writer.drain()
        return fate != "pass"


async def _message(reader: asyncio.StreamReader) -> bytes:
    """Return a whole request or answer.

    Raises:
        IncompleteReadError: the other side ended first.
    """
    head = await reader.readuntil(_HEAD_END)
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(_LENGTH):
            length = int(line.removeprefix(_LENGTH))
    return head + await reader.readexactly(length)
