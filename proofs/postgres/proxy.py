"""A proxy before a PostgreSQL server that cuts connections where a flush goes over them."""

import asyncio
import contextlib
import enum
from collections import Counter
from collections.abc import Callable
from typing import Final

from proofs.listening import Listening

_FLUSH: Final = b"\x00pausemesh_append"
_BIND: Final = b"B"
"""A flush runs a statement that was prepared under this name: its message begins with Bind."""

_CHUNK_BYTES: Final = 262_144


class Fate(enum.Enum):
    """What becomes of a flush on its way."""

    PASS = enum.auto()
    CUT_BEFORE = enum.auto()
    CUT_MEANWHILE = enum.auto()
    CUT_AFTER = enum.auto()
    HOLD = enum.auto()
    """The server does it, and nobody ever hears of it; the connection stays."""


class Proxy(Listening):
    """Listens on a port of its own and passes everything on, but for what ``fate_of`` says of each flush.

    Attributes:
        fates: how many flushes had each fate.
        upstream_port: where the next connection leads to.
    """

    def __init__(self, upstream_port: int, fate_of: Callable[[], Fate]) -> None:
        super().__init__()
        self.fates: Counter[Fate] = Counter()
        self.upstream_port = upstream_port
        self._fate_of = fate_of

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            with contextlib.suppress(OSError):
                upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.upstream_port)
                ends.append(upstream)
                await _Passage(self, reader, writer, upstream_reader, upstream).run()
        finally:
            for end in ends:
                end.transport.abort()

    def draw(self) -> Fate:
        """Return the next flush's fate, and count it."""
        fate = self._fate_of()
        self.fates[fate] += 1
        return fate


class _Passage:
    """One connection: what each side says is passed to the other, until the flush that is cut."""

    def __init__(
        self,
        proxy: Proxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._upstream_reader = upstream_reader
        self._upstream = upstream
        self._is_silent = False
        self._is_cut_next = False

    async def run(self) -> None:
        ways = [asyncio.ensure_future(way) for way in (self._to_server(), self._to_client())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _to_server(self) -> None:
        while said := await self._reader.read(_CHUNK_BYTES):
            is_flush = said.startswith(_BIND) and _FLUSH in said
            fate = self._proxy.draw() if is_flush else Fate.PASS
            if fate is Fate.CUT_BEFORE:
                return
            self._is_silent = self._is_silent or fate is Fate.HOLD
            self._is_cut_next = fate is Fate.CUT_AFTER
            self._upstream.write(said)
            await self._upstream.drain()
            if fate is Fate.CUT_MEANWHILE:
                return

    async def _to_client(self) -> None:
        while said := await self._upstream_reader.read(_CHUNK_BYTES):
            if self._is_cut_next:
                return
            if not self._is_silent:
                self._writer.write(said)
                await self._writer.drain()
