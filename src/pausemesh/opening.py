"""Opening a mesh: the one place where ports and adapters are wired together."""

import re
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final

from pausemesh.adapters.clock import SystemClock
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.adapters.json_schema import JsonSchemaValidator
from pausemesh.adapters.observer import NoopObserver
from pausemesh.adapters.tokens import Sha256TokenIssuer
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.policy import Policy
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.ports import Cipher, Clock, EventStore, Observer
from pausemesh.service.blocking import BlockingMesh, LoopThread
from pausemesh.service.mesh import Mesh
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore

_MEMORY: Final = "memory:"
_SQLITE: Final = re.compile(r"sqlite:///(?P<path>[^?#]+)", re.DOTALL)


class Opening:
    """A mesh that is about to be opened: ``async with pausemesh.open(...) as mesh``."""

    def __init__(
        self,
        target: str | EventStore,
        *,
        scope: str,
        policy: Policy | None,
        observer: Observer | None,
        cipher: Cipher | None,
        clock: Clock | None,
    ) -> None:
        self._target = target
        self._scope = scope
        self._policy = policy
        self._observer = observer or NoopObserver()
        self._cipher = cipher
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Mesh:
        """Open the store, where a URL names it, and the mesh on it."""
        async with AsyncExitStack() as stack:
            store = self._target
            if isinstance(store, str):
                store = await _open_store(store, self._clock)
                stack.push_async_callback(store.close)
            mesh = Mesh(
                store,
                clock=self._clock,
                tokens=Sha256TokenIssuer(),
                ids=TimeOrderedIds(),
                validator=JsonSchemaValidator(),
                observer=self._observer,
                policy=self._policy,
                cipher=self._cipher,
                scope=self._scope,
            )
            stack.push_async_callback(mesh.close)
            self._stack = stack.pop_all()
            return mesh

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the mesh, and the store where this opened it."""
        await self._stack.__aexit__(kind, error, traceback)


class BlockingOpening:
    """A blocking mesh that is about to be opened: ``with pausemesh.open_sync(...) as mesh``."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._loop: LoopThread | None = None

    def __enter__(self) -> BlockingMesh:
        """Start the loop, and open the mesh in it."""
        self._loop = LoopThread()
        try:
            return BlockingMesh(self._loop, self._loop.call(self._opening.__aenter__()))
        except BaseException:
            self._loop.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the mesh, and stop the loop."""
        assert self._loop is not None, "the mesh was opened"
        try:
            self._loop.call(self._opening.__aexit__(kind, error, traceback))
        finally:
            self._loop.close()


def open(
    target: str | EventStore,
    *,
    scope: str = DEFAULT_SCOPE,
    policy: Policy | None = None,
    observer: Observer | None = None,
    cipher: Cipher | None = None,
    clock: Clock | None = None,
) -> Opening:
    """Open a mesh for the length of an ``async with`` block.

    Args:
        target: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``memory:`` (nothing survives the block), or a
            store of the host's own, which the host closes.
        scope: the project or tenant; nothing of another scope can be seen or changed.
        policy: lifetimes and limits; the defaults where it is left out.
        observer: is told what happens, without payloads and tokens.
        cipher: encrypts values at rest.
        clock: the time; the system's where it is left out.

    Raises:
        InvalidRequest: the target is none of these.
        StoreUnavailable, StoreCorrupt, StoreUnsafe, SchemaError: on entering, the store cannot be opened.
    """
    return Opening(target, scope=scope, policy=policy, observer=observer, cipher=cipher, clock=clock)


def open_sync(
    target: str | EventStore,
    *,
    scope: str = DEFAULT_SCOPE,
    policy: Policy | None = None,
    observer: Observer | None = None,
    cipher: Cipher | None = None,
    clock: Clock | None = None,
) -> BlockingOpening:
    """Open a mesh for blocking callers, for the length of a ``with`` block; otherwise as ``open``.

    After a fork the child gets ForkedMesh and opens one of its own.
    """
    return BlockingOpening(Opening(target, scope=scope, policy=policy, observer=observer, cipher=cipher, clock=clock))


async def _open_store(url: str, clock: Clock) -> EventStore:
    if url == _MEMORY:
        return MemoryEventStore(clock)
    match = _SQLITE.fullmatch(url)
    if match is None:
        message = "must be sqlite:///path or memory:"
        raise InvalidRequest(issues=[Issue("/target", "url", message)])
    return await SqliteEventStore.open(match["path"], clock)
