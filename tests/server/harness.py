"""The real server in a thread of its own, and clients for it: one that is polite, and one that sends any bytes."""

import asyncio
import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import httpx2
import uvloop

import pausemesh
from pausemesh.core.limits import CALL_SECONDS
from pausemesh.ports import EventStore, Observer
from pausemesh.server.app import PauseMeshApp, create_app
from pausemesh.server.process import Process, listen
from pausemesh.server.settings import Parser
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.server.answers import Reply, require_valid

T = TypeVar("T")

SECONDS: Final = 30.0
"""How long anything is waited for before a test gives up."""


class RunningServer:
    """A server process on a free port of loopback, over a mesh of its own."""

    def __init__(
        self,
        *,
        database: Path | None = None,
        parser: Parser = "httptools",
        clock: ManualClock | None = None,
        policy: pausemesh.Policy | None = None,
        observer: Observer | None = None,
        call_seconds: float = CALL_SECONDS,
        **options: Any,
    ) -> None:
        self.clock = clock or ManualClock()
        self.port = 0
        self._database = database
        self._parser = parser
        self._policy = policy
        self._observer = observer
        self._options = {"is_loopback": True, **options}
        self._call_seconds = call_seconds
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test-server")
        self._failure: BaseException | None = None
        self._keys: dict[tuple[str, str], str] = {}
        self.app: PauseMeshApp
        self.mesh: Mesh
        self.process: Process
        self.store: EventStore
        self._loop: asyncio.AbstractEventLoop

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(SECONDS)
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop as a signal would, and wait until the store is closed."""
        self.process.should_exit = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the server's loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def key(self, role: str, scope: str = "default", *, name: str = "") -> str:
        """Return the text of a key; that of one name is always the same."""
        found = self._keys.get((f"{role} {name}", scope))
        if found is None:
            found = self.run(self.mesh.create_key(role, scope=scope)).text
            self._keys[f"{role} {name}", scope] = found
        return found

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which it lives."""
        return self._loop

    def until(self, is_so: Callable[[], bool]) -> bool:
        """Wait until something is so; False where it never was."""
        deadline = time.monotonic() + SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def until_waiting(self, number: int) -> bool:
        """Wait until so many long-polls are open."""
        line = f"pausemesh_waiting {float(number)}\n"
        return self.until(lambda: line in self.app.serving.metrics.render()[0].decode())

    @property
    def last_seq(self) -> int:
        """How many events the store holds: what is refused leaves it alone."""
        return self.run(self.store.last_seq())

    def client(self, role: str | None = None, scope: str = "default", *, name: str = "") -> "Client":
        """Return a client with a key of this role, or with none."""
        return Client(self.port, None if role is None else self.key(role, scope, name=name))

    def wire(self, *, room: int | None = None) -> "Wire":
        """Return a connection for any bytes; ``room`` is how much may come before it is read."""
        return Wire(self.port, room=room)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the test
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            if self._database is None:
                self.store = pausemesh.MemoryEventStore(self.clock)
            else:
                self.store = await pausemesh.SqliteEventStore.open(
                    self._database, self.clock, call_seconds=self._call_seconds
                )
            stack.push_async_callback(self.store.close)
            opening = pausemesh.open(self.store, clock=self.clock, policy=self._policy, observer=self._observer)
            self.mesh = await stack.enter_async_context(opening)
            self.app = create_app(self.mesh, **{"readiness_probe": self.store, **self._options})
            self.process = Process(self.app, parser=self._parser)
            bound = stack.enter_context(contextlib.closing(listen("127.0.0.1", 0)))
            self.port = bound.getsockname()[1]
            announcing = asyncio.create_task(self._announce())
            await self.process.serve([bound])
            await announcing

    async def _announce(self) -> None:
        while not self.process.started:
            await asyncio.sleep(0.001)
        self._started.set()


class Client:
    """Calls the server as a program would; each answer is held against the shape that was promised for it."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self.key = key
        self.port = port
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let its connections go."""
        self._http.close()

    def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Reply:
        """GET."""
        return self.call("GET", path, headers=headers)

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """POST a JSON body; ``key`` is the Idempotency-Key, ``token`` the resume token."""
        extra = dict(headers or {})
        if key is not None:
            extra["Idempotency-Key"] = key
        if token is not None:
            extra["Authorization"] = f"PauseMesh {token}"
        raw = json.dumps({} if body is None else body).encode()
        return self.call("POST", path, raw, headers={"Content-Type": "application/json", **extra})

    def call(self, method: str, path: str, body: bytes | None = None, *, headers: Mapping[str, str] | None) -> Reply:
        """Send a request, with the client's own key where no other credential stands in its place."""
        sent = dict(headers or {})
        if self.key is not None and "X-API-Key" not in sent:
            name = "X-API-Key" if "Authorization" in sent else "Authorization"
            sent[name] = self.key if name == "X-API-Key" else f"Bearer {self.key}"
        request = self._http.build_request(method, path, content=body, headers=sent)
        answer = self._http.send(request)
        reply = Reply(answer.status_code, dict(answer.headers), answer.content)
        require_valid(method, path, sent, body or b"", reply)
        return reply

    def ask(self, payload: Any = "Which flight?", *, key: str | None = None, **members: Any) -> Any:
        """Ask a question, and return the answer's body."""
        reply = self.post("/v1/continuations", {"payload": payload, **members}, key=key)
        assert reply.status in {200, 201}, reply
        return reply.json

    def resume(self, created: Any, payload: Any, *, key: str = "k", **members: Any) -> Reply:
        """Answer a question with its token."""
        path = f"/v1/continuations/{created['continuation']['continuationId']}/resume"
        return self.post(path, {"payload": payload, **members}, key=key, token=created["resumeToken"])


class Wire:
    """A connection that sends whatever it is told, and reads what comes back."""

    def __init__(self, port: int, *, room: int | None = None) -> None:
        self._socket = socket.socket()
        self._socket.settimeout(SECONDS)
        if room is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self._socket.connect(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> "Wire":
        """Send; a server that has closed already is no surprise here."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)
        return self

    def send_until_answered(self, data: bytes, *, pause: float = 0.0) -> int:
        """Send the same again and again until something comes back; return how many bytes went out."""
        self._socket.settimeout(0)
        sent, most = 0, 256 * 1024 * 1024
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while not select.select([self._socket], [], [], pause)[0] and sent < most:
                    if select.select([], [self._socket], [], 0.01)[1]:
                        sent += self._socket.send(data[sent % len(data) :])
        finally:
            self._socket.settimeout(SECONDS)
        return sent

    def line(self) -> bytes:
        """Read a line."""
        return self._file.readline()

    def reply(self, method: str = "GET", *, pause: float = 0.0) -> Reply:
        """Read one answer; with a pause a tenth of it at a time, as somebody does who is far away."""
        version, _, status = self.line().partition(b" ")
        assert version == b"HTTP/1.1", version
        headers: dict[str, str] = {}
        while (line := self.line()) != b"\r\n":
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        length = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
        body = b""
        while pause and len(body) < length:
            threading.Event().wait(pause)
            body += self._file.read(min(length // 10 + 1, length - len(body)))
        return Reply(int(status[:3]), headers, body or self._file.read(length))

    def rest(self) -> bytes:
        """Return all that comes until the server closes."""
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := self._file.read1(65_536):
                parts.append(part)
        return b"".join(parts)

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed, after all that it sent was read."""
        return self.rest() == b""
