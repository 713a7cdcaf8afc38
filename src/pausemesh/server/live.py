"""What happens, as server-sent events: without gaps, from any position on."""

import asyncio
import contextlib
from typing import Final

import msgspec
from starlette.types import Send

from pausemesh.core.errors import NotFound
from pausemesh.core.principal import Principal, Role
from pausemesh.server import limits
from pausemesh.server.answer import COMMON
from pausemesh.server.operation import Call
from pausemesh.server.serving import disconnected
from pausemesh.service.changes import Change, Changes

_FIRST: Final = b"retry: 1000\n\n"
_COMMENT: Final = b": still here\n\n"
_HEADERS: Final = ((b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"))
_CREATORS_REMEMBERED: Final = 4_096


class EventStream:
    """The endless answer to one client that follows a scope.

    One task reads the log and another writes to the client, with a bounded number of events between them, so that a
    slow client delays nobody: one that is a thousand events behind is sent away, and may come back to its position.
    """

    def __init__(self, call: Call, seq: int) -> None:
        self._serving = call.serving
        self._receive = call.receive
        self._changes = call.mesh.changes
        self._may_see = Sight(self._changes, call.known)
        self._seq = seq
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(limits.SUBSCRIBER_BACKLOG_EVENTS)

    async def send(self, send: Send) -> None:
        """Send until the client goes, falls behind, or the server stops."""
        with self._serving.subscribed():
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *COMMON]})
            await self._send_events(send)

    async def _send_events(self, send: Send) -> None:
        tasks = [
            asyncio.create_task(work, name="pausemesh-event-stream")
            for work in (self._read(), self._write(send), self._serving.stopping.wait(), disconnected(self._receive))
        ]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in ended:
            task.result()
        if tasks[0] not in ended:
            await send({"type": "http.response.body", "body": b""})

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": _FIRST, "more_body": True})
        while True:
            try:
                async with asyncio.timeout(limits.COMMENT_SECONDS):
                    part = await self._queue.get()
            except TimeoutError:
                part = _COMMENT
            await send({"type": "http.response.body", "body": part, "more_body": True})

    async def _read(self) -> None:
        """Read the log; it ends where the client is too far behind what is new."""
        latest = await self._changes.latest()
        async with contextlib.aclosing(self._changes.after(self._seq)) as batches:
            async for batch in batches:
                for change in batch:
                    if not await self._may_see(change):
                        continue
                    if change.seq > latest and self._queue.full():
                        return
                    await self._queue.put(self._event_of(change))

    def _event_of(self, change: Change) -> bytes:
        data = {
            "id": change.id,
            "noun": change.noun,
            "nounId": change.noun_id,
            "version": change.version,
            "status": change.status,
        }
        position = self._changes.position_of(change.seq).encode()
        return b"id: %b\ndata: %b\n\n" % (position, msgspec.json.encode(data))


class Sight:
    """What a principal may see of what happens: an agent its own questions, everybody else the scope's."""

    def __init__(self, changes: Changes, principal: Principal) -> None:
        self._changes = changes
        self._own = principal.id if principal.role is Role.AGENT else None
        self._creators: dict[str, str | None] = {}

    async def __call__(self, change: Change) -> bool:
        """Tell whether a change may be seen."""
        if self._own is None:
            return True
        return await self._creator_of(change.continuation_id) == self._own

    async def _creator_of(self, continuation_id: str) -> str | None:
        if continuation_id not in self._creators:
            if len(self._creators) >= _CREATORS_REMEMBERED:
                self._creators.clear()
            try:
                self._creators[continuation_id] = await self._changes.creator_of(continuation_id)
            except NotFound:
                return None
        return self._creators[continuation_id]
