"""A connection that carries one request after the other, and says when it was cut."""

import asyncio
import dataclasses
import re
from typing import Final, cast

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)\r", re.IGNORECASE)


class CutError(Exception):
    """The connection ended before the answer was there whole: nobody knows what became of the request."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """An answer that came whole."""

    status: int
    body: bytes


def end_of_message(data: bytes) -> int | None:
    """Return where the first message in ``data`` ends, a request or an answer; None where it is not whole."""
    head = data.find(_HEAD_END)
    if head < 0:
        return None
    found = _LENGTH.search(data, 0, head + len(_HEAD_END))
    end = head + len(_HEAD_END) + (0 if found is None else int(found[1]))
    return end if len(data) >= end else None


class Connection(asyncio.Protocol):
    """One connection to a port of this machine.

    Attributes:
        life: which of the servers that follow each other it was made to.
        is_open: it can carry another request.
    """

    def __init__(self, life: int) -> None:
        self.life = life
        self.is_open = True
        self._buffer = b""
        self._awaited: asyncio.Future[Reply] | None = None
        self._transport: asyncio.Transport

    @classmethod
    async def to(cls, port: int, life: int) -> "Connection":
        """Connect.

        Raises:
            OSError: nobody listens there.
        """
        _, connection = await asyncio.get_running_loop().create_connection(lambda: cls(life), "127.0.0.1", port)
        return connection

    async def exchange(self, request: bytes) -> Reply:
        """Send a request and return its answer.

        Raises:
            CutError: the connection ended first.
        """
        if not self.is_open:
            raise CutError
        self._awaited = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._awaited

    def close(self) -> None:
        """Let it go."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is written to."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Collect an answer."""
        self._buffer += data
        end = end_of_message(self._buffer)
        if end is None or self._awaited is None:
            return
        whole, self._buffer = self._buffer[:end], self._buffer[end:]
        awaited, self._awaited = self._awaited, None
        if not awaited.done():
            awaited.set_result(Reply(int(whole[9:12]), whole[whole.find(_HEAD_END) + len(_HEAD_END) :]))

    def connection_lost(self, _error: Exception | None) -> None:
        """Tell who waits for an answer."""
        self.is_open = False
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(CutError())
