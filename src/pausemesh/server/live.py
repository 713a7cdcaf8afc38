"""What happens, as server-sent events: without gaps, from any position on."""

import asyncio
import contextlib
from typing import Final

from starlette.types import Send

from pausemesh.core.errors import NotFound
from pausemesh.core.principal import Principal, Role
from pausemesh.server import limits
from pausemesh.server.answer import COMMON
from pausemesh.server.channel import Told
from pausemesh.server.errors import Unauthenticated
from pausemesh.server.operation import Call
from pausemesh.server.serving import disconnected
from pausemesh.service.changes import Change, Changes

_COMMENT: Final = b": still here\n\n"
_HEADERS: Final = ((b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"))
_CREATORS_REMEMBERED: Final = 4_096


class EventStream:
    """The endless answer to one client that follows a scope.

    It first tells what the log holds from the client's position on, and then what the scope's channel tells. A slow
    client delays nobody: one that is a thousand events behind is sent away, and may come back to its position. So is
    one whose key is valid no more.
    """

    def __init__(self, call: Call, seq: int) -> None:
        self._call = call
        self._channel = call.serving.of(call.mesh.scope).channel
        self._may_see = Sight(call.mesh.changes, call.known)
        self._seq = seq
        self._queue: asyncio.Queue[Told] = asyncio.Queue(limits.SUBSCRIBER_BACKLOG_EVENTS)
        self._is_over = asyncio.Event()

    def tell(self, told: Told) -> None:
        """Take a change in, for the client to be told of; it is over where there are too many."""
        try:
            self._queue.put_nowait(told)
        except asyncio.QueueFull:
            self._is_over.set()

    def end(self) -> None:
        """Let the client come back later."""
        self._is_over.set()

    async def send(self, send: Send) -> None:
        """Send until the client goes, falls behind, may not follow any more, or the server stops."""
        with self._call.serving.subscribed():
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *COMMON]})
            try:
                joined = await self._channel.join(self)
                await self._send_until_over(send, joined)
            finally:
                self._channel.leave(self)

    async def _send_until_over(self, send: Send, joined: int) -> None:
        works = (
            self._write(send, joined),
            self._is_over.wait(),
            self._call.serving.stopping.wait(),
            disconnected(self._call.receive),
        )
        tasks = [asyncio.create_task(work, name="pausemesh-event-stream") for work in works]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in ended:
            with contextlib.suppress(Unauthenticated):
                task.result()
        if not self._is_over.is_set():
            await send({"type": "http.response.body", "body": b""})

    async def _write(self, send: Send, joined: int) -> None:
        first = self._call.mesh.changes.position_of(self._seq).encode()
        await _part(send, b"retry: 1000\nid: %b\n\n" % first)
        if self._seq < joined:
            await self._catch_up(send, joined)
        now = asyncio.get_running_loop().time
        confirmed = now()
        while True:
            try:
                async with asyncio.timeout(limits.COMMENT_SECONDS):
                    told = await self._queue.get()
                await self._pass_on(send, told)
            except TimeoutError:
                await _part(send, _COMMENT)
            if now() - confirmed >= limits.COMMENT_SECONDS:
                await self._call.confirm()
                confirmed = now()

    async def _catch_up(self, send: Send, joined: int) -> None:
        """Tell what happened before the channel was joined."""
        async with contextlib.aclosing(self._call.mesh.changes.after(self._seq)) as batches:
            async for batch in batches:
                for change in batch:
                    if change.seq <= joined:
                        await self._pass_on(send, self._channel.told(change))
                if not batch or batch[-1].seq >= joined:
                    return

    async def _pass_on(self, send: Send, told: Told) -> None:
        change = told.change
        if change.seq > self._seq and await self._may_see(change):
            await _part(send, told.event)
        self._seq = max(self._seq, change.seq)


async def _part(send: Send, part: bytes) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": True})


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
