"""A client that retries: the very same request, until it is told what became of it."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from proofs.children import Voice
from proofs.http.request import REPEATED, Request, data_of, line_of
from proofs.http.wire import Connection, CutError, Reply

_REFUSED_SECONDS: Final = 0.004
"""How long a client waits before it calls again where nobody listens."""

_HONEST: Final = frozenset({"OUTCOME_UNKNOWN", "STORE_UNAVAILABLE", "OVERLOADED"})
_KEPT: Final = 400


class Client:
    """Sends requests over kept connections, and tells each of them and every answer.

    Args:
        ports: of the servers, which are called in turn.
        voice: hears all that is told.
        name: goes into every mark.

    Attributes:
        life: which of the servers that follow each other is the present one.
        answered: the last requests whose repeat must find what they did.
        runs: how often each effect, by (continuation, key), really happened.
    """

    def __init__(self, ports: Sequence[int], voice: Voice, name: str) -> None:
        self.life = 1
        self.answered: list[Request] = []
        self.runs: dict[tuple[str, str], int] = {}
        self._ports = itertools.cycle(ports)
        self._voice = voice
        self._name = name
        self._idle: defaultdict[int, list[Connection]] = defaultdict(list)
        self._numbers = itertools.count(1)

    def mark(self) -> str:
        """Return a text that nothing else is marked with."""
        return f"{self._name}-{next(self._numbers)}"

    async def ask(
        self,
        do: str,
        path: str,
        body: Any,
        *,
        credential: str,
        mark: str | None = None,
        key: bool = False,
        token: str | None = None,
        **about: Any,
    ) -> tuple[int, Any]:
        """Make a request of one's own and settle it; ``key``: the mark is its Idempotency-Key."""
        request = self.request(do, path, body, credential=credential, mark=mark, key=key, token=token, **about)
        answer = await self.settle(request)
        if answer[0] < 300 and do in REPEATED:
            self.answered.append(request)
            del self.answered[:-_KEPT]
        return answer

    def request(
        self,
        do: str,
        path: str,
        body: Any,
        *,
        credential: str,
        mark: str | None = None,
        key: bool = False,
        token: str | None = None,
        **about: Any,
    ) -> Request:
        """Make the same request, and leave it to be settled."""
        own = mark or self.mark()
        data = data_of("POST", path, body, credential=credential, idempotency_key=own if key else None, token=token)
        request = Request(number=next(self._numbers), do=do, mark=own, about=about, data=data)
        self._voice.say(n=request.number, do=do, mark=own, **about)
        return request

    async def settle(self, request: Request, first_port: int | None = None) -> tuple[int, Any]:
        """Send a request until its outcome is told; return the status and the body."""
        port = first_port or next(self._ports)
        while True:
            life, reply = await self._send(port, request.data)
            port = next(self._ports)
            if reply is None:
                self._voice.say(n=request.number, cut=life)
                continue
            line = line_of(reply)
            self._voice.say(n=request.number, life=life, **line)
            if reply.status not in {500, 503} or line["body"]["code"] not in _HONEST:
                return reply.status, line["body"]
            await asyncio.sleep(_REFUSED_SECONDS)

    async def read(self, path: str, credential: str) -> Any:
        """GET, until it is answered."""
        data = data_of("GET", path, credential=credential)
        while True:
            _, reply = await self._send(next(self._ports), data)
            if reply is not None and reply.status != 503:
                assert reply.status == 200, (path, reply)
                return line_of(reply)["body"]
            await asyncio.sleep(_REFUSED_SECONDS)

    def run(self, continuation_id: str, key: str) -> None:
        """Let an effect happen: from here on the outside world is different."""
        self.runs[continuation_id, key] = self.runs.get((continuation_id, key), 0) + 1
        self._voice.say(ran=[continuation_id, key])

    async def _send(self, port: int, data: bytes) -> tuple[int, Reply | None]:
        """Send once; return the life of the server that it was sent to, and no answer where it was cut."""
        connection = await self._connection(port)
        try:
            reply = await connection.exchange(data)
        except CutError:
            return connection.life, None
        self._idle[port].append(connection)
        return connection.life, reply

    async def _connection(self, port: int) -> Connection:
        while self._idle[port]:
            idle = self._idle[port].pop()
            if idle.is_open and idle.life == self.life:
                return idle
            idle.close()
        while True:
            life = self.life
            try:
                made = await Connection.to(port, life)
            except OSError:
                await asyncio.sleep(_REFUSED_SECONDS)
                continue
            if life == self.life:
                return made
            made.close()
