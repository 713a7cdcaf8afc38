"""uvicorn's two HTTP parsers behind the strict head, with a limit on how long a head may take."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pausemesh.server import limits
from pausemesh.server.problems import TITLES, type_of
from pausemesh.server.strict_head import Refusal, StrictHead

_REASONS: Final = {
    400: b"Bad Request",
    408: b"Request Timeout",
    414: b"URI Too Long",
    431: b"Request Header Fields Too Large",
}


if TYPE_CHECKING:
    _Parser = HttpToolsProtocol
else:
    _Parser = object

_PIECE_BYTES: Final = 8_192


class _PatientFlow(FlowControl):
    """Reads no more as long as what was read is to be answered first."""

    def __init__(self, transport: asyncio.Transport, has_enough: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._has_enough = has_enough

    def resume_reading(self) -> None:
        """Read more, where there is not enough."""
        if not self._has_enough():
            super().resume_reading()


class _Strict(_Parser):
    """Stands before a parser: passes on what the strict head lets through, and answers what it refuses."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._strict = StrictHead()
        self._head_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._kept = bytearray()
        super().connection_made(transport)
        self.flow = _PatientFlow(transport, self._has_enough)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._unwatch_reading()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._kept and len(data) <= _PIECE_BYTES and not self._has_enough():
            self._take(data)
        else:
            self._kept += data
            self._go_on()

    def on_response_complete(self) -> None:
        """Go on with what was kept; what it asks for is worked on one by one."""
        super().on_response_complete()
        self._go_on()

    def _go_on(self) -> None:
        """Take in no more than can be answered soon: a request is much larger than the bytes that it came in."""
        while self._kept and not self._has_enough() and not self.transport.is_closing():
            piece = bytes(self._kept[:_PIECE_BYTES])
            del self._kept[:_PIECE_BYTES]
            self._take(piece)

    def _take(self, data: bytes) -> None:
        passed = self._strict.feed(data)
        if passed:
            self._unwatch()
            super().data_received(passed)
        if self._strict.refusal is not None:
            self._refuse(self._strict.refusal)
        elif self._strict.is_inside:
            self._unset_keepalive_if_required()
            self._watch()

    def pause_writing(self) -> None:
        """Take note that more is to be sent than the client has room for; who reads nothing of it is let go."""
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._watch_reading()

    def resume_writing(self) -> None:
        """Take note that there is room again."""
        self._unwatch_reading()
        super().resume_writing()

    def _watch_reading(self) -> None:
        self._reading_timer = self.loop.call_later(limits.READING_SECONDS, self._require_reading)

    def _unwatch_reading(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None

    def _require_reading(self) -> None:
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent < before:
            self._watch_reading()
        else:
            self.transport.abort()

    def _has_enough(self) -> bool:
        return self._strict.refusal is not None or bool(getattr(self, "pipeline", None))

    def _watch(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(limits.HEAD_SECONDS, self._give_up)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        self._refuse(Refusal(408, "REQUEST_TIMEOUT"))

    def _refuse(self, refusal: Refusal) -> None:
        self._unwatch()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not self._is_body_of(cycle):
                # An answer is under way: it ends first, and the connection with it.
                cycle.keep_alive = False
                self.flow.pause_reading()
                return
            # Whoever reads this body is told that nobody is there any more.
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(_answer(refusal))
        self.transport.close()

    def _is_body_of(self, cycle: RequestResponseCycle) -> bool:
        """Tell whether what is refused belongs to the body of the very request that is to be answered now."""
        is_next = not getattr(self, "pipeline", None)
        return self._strict.is_in_body and cycle.more_body and is_next and not cycle.response_started


def _answer(refusal: Refusal) -> bytes:
    problem = {
        "type": type_of(refusal.code),
        "title": TITLES[refusal.code],
        "status": refusal.status,
        "code": refusal.code,
    }
    body = msgspec.json.encode(problem)
    head = (
        b"HTTP/1.1 %d %s\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n"
        b"cache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return head % (refusal.status, _REASONS[refusal.status], len(body)) + body


class StrictHttpToolsProtocol(_Strict, HttpToolsProtocol):
    """The faster parser."""


class StrictH11Protocol(_Strict, H11Protocol):  # type: ignore[misc]
    """The parser in Python alone."""
