"""Opening a mesh: the one place where ports and adapters are wired together."""

import functools
import os
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Final, TypeAlias, TypeVar, cast

from pausemesh.adapters.clock import SystemClock
from pausemesh.adapters.ids import TimeOrderedIds
from pausemesh.adapters.json_schema import JsonSchemaValidator
from pausemesh.adapters.observer import NoopObserver
from pausemesh.adapters.tokens import Sha256TokenIssuer
from pausemesh.core.errors import ForkedMesh, InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.policy import Policy
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.core.values import check_own_id
from pausemesh.ports import Cipher, Clock, EventStore, Observer
from pausemesh.service.blocking import BlockingMesh
from pausemesh.service.loop_thread import LoopThread
from pausemesh.service.mesh import Mesh
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.postgres_extra import require_driver
from pausemesh.stores.postgres_schema_name import DEFAULT_SCHEMA, check_schema_name
from pausemesh.stores.sqlite import SqliteEventStore

PortT = TypeVar("PortT")
OpenStore: TypeAlias = Callable[[Clock | None], AbstractAsyncContextManager[EventStore]]
"""Opens a store for the length of a block; with the caller's clock, else with the store's own."""

_MEMORY: Final = "memory:"
_SQLITE: Final = re.compile(r"sqlite:///(?P<path>[^?#]+)", re.DOTALL)
_NO_FILE_NAME: Final = re.compile("[\\x00\\ud800-\\udfff]")

_POSTGRES: Final = frozenset({"postgresql", "postgres"})

_NEEDS_A_TARGET: Final = "must be sqlite:///path, memory:, postgresql://…, a Path of a SQLite file, or an event store"
_NEEDS_SQLITE_FORM: Final = (
    "must be sqlite:///relative.db or sqlite:////absolute.db, without ? and #; a Path may have them"
)
_NOT_POSTGRESQL: Final = "is for a target postgresql://… alone"
_NO_PATH: Final = "must name a file, without U+0000 and lone surrogates"
_NO_SQLITE_MEMORY: Final = "must name a file; memory: keeps everything in memory"
_NOT_ENTERED: Final = "This mesh is not open."


class Opening:
    """A mesh that is about to be opened: ``async with pausemesh.open(...) as mesh``.

    It can be entered again once it was left.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | EventStore,
        *,
        schema: str,
        scope: str,
        policy: Policy | None,
        observer: Observer | None,
        cipher: Cipher | None,
        clock: Clock | None,
    ) -> None:
        if not isinstance(policy, Policy | None):
            raise InvalidRequest(issues=[Issue("/policy", "type", "must be a pausemesh.Policy")])
        self._open_store = _read_target(target, _read_schema(schema))
        self._scope = check_own_id(scope, "/scope")
        self._policy = policy
        self._observer = NoopObserver() if observer is None else _with_methods(observer, Observer, "/observer")
        self._cipher = None if cipher is None else _with_methods(cipher, Cipher, "/cipher")
        self._clock = None if clock is None else _with_methods(clock, Clock, "/clock")
        self._entered = threading.Lock()
        self._stack: AsyncExitStack | None = None

    async def __aenter__(self) -> Mesh:
        """Open the store, where it is named, and the mesh on it.

        Raises:
            InvalidRequest: it is entered, and was not left yet.
        """
        if not self._entered.acquire(blocking=False):
            raise InvalidRequest("This mesh is open already; every block needs an opening of its own.")
        try:
            async with AsyncExitStack() as stack:
                store = await stack.enter_async_context(self._open_store(self._clock))
                mesh = Mesh(
                    store,
                    clock=_clock_or_systems(self._clock),
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
        except BaseException:
            self._entered.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the mesh, and the store where this opened it.

        Raises:
            InvalidRequest: it was not entered.
        """
        stack, self._stack = self._stack, None
        if stack is None:
            raise InvalidRequest(_NOT_ENTERED)
        try:
            await stack.__aexit__(kind, error, traceback)
        finally:
            self._entered.release()


class BlockingOpening:
    """A blocking mesh that is about to be opened: ``with pausemesh.open_sync(...) as mesh``.

    It can be entered again once it was left.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._loop: LoopThread | None = None

    def __enter__(self) -> BlockingMesh:
        """Start the loop, and open the mesh in it.

        Raises:
            InvalidRequest: it is entered, and was not left yet.
        """
        loop = LoopThread()
        try:
            mesh = loop.enter(self._opening, lambda opened: BlockingMesh(loop, opened))
            self._loop = loop
        except BaseException:
            loop.close()
            raise
        return mesh

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the mesh and stop the loop.

        Raises:
            InvalidRequest: it was not entered, or a coroutine that the mesh runs would close it.
            ForkedMesh: it is the parent's.
        """
        loop = self._loop
        if loop is None:
            raise InvalidRequest(_NOT_ENTERED)
        try:
            loop.close()
        except ForkedMesh:
            if error is None:
                raise
        finally:
            if loop.is_closed:
                self._loop = None


def open(
    target: str | os.PathLike[str] | EventStore,
    *,
    schema: str = DEFAULT_SCHEMA,
    scope: str = DEFAULT_SCOPE,
    policy: Policy | None = None,
    observer: Observer | None = None,
    cipher: Cipher | None = None,
    clock: Clock | None = None,
) -> Opening:
    """Open a mesh for the length of an ``async with`` block.

    Args:
        target: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or a ``Path``, for a SQLite file;
            ``postgresql://user@host/database``, which needs the extra ``postgres`` and a schema that ``pausemesh
            migrate`` has made; ``memory:`` (nothing survives the block); or a store of the host's own, which the host
            closes.
        schema: where the tables are in a PostgreSQL database.
        scope: the project or tenant; nothing of another scope can be seen or changed.
        policy: lifetimes and limits; the defaults where it is left out.
        observer: is told what happens, without payloads and tokens.
        cipher: encrypts values at rest.
        clock: the time; where it is left out the system's, and for deadlines and leases in PostgreSQL the database's.

    Raises:
        InvalidRequest: the target is none of these, or another argument is not what its name says.
        StoreUnavailable, StoreCorrupt, StoreUnsafe, SchemaError: on entering, the store cannot be opened.
    """
    return Opening(target, schema=schema, scope=scope, policy=policy, observer=observer, cipher=cipher, clock=clock)


def open_sync(
    target: str | os.PathLike[str] | EventStore,
    *,
    schema: str = DEFAULT_SCHEMA,
    scope: str = DEFAULT_SCOPE,
    policy: Policy | None = None,
    observer: Observer | None = None,
    cipher: Cipher | None = None,
    clock: Clock | None = None,
) -> BlockingOpening:
    """Open a mesh for blocking callers, for the length of a ``with`` block; otherwise as ``open``.

    Any number of threads may use it. The plain functions that it is given (``run``, ``notify``) run in daemon threads
    and may use it, too; coroutine functions run in its own loop and may not. At the end of the block, calls of other
    threads that wait raise StoreClosed, claims that are held are given back, and an effect that still runs is in doubt.
    A process that was forked while a mesh was open gets ForkedMesh from that mesh and, where it was on SQLite, from
    opening any SQLite mesh: start such processes with spawn or forkserver, or fork before opening.
    """
    return BlockingOpening(
        open(target, schema=schema, scope=scope, policy=policy, observer=observer, cipher=cipher, clock=clock)
    )


def _read_target(target: object, schema: str) -> OpenStore:
    if isinstance(target, str) and target.partition(":")[0].lower() in _POSTGRES:
        return _in_postgres(target, schema)
    if schema != DEFAULT_SCHEMA:
        raise InvalidRequest(issues=[Issue("/schema", "target", _NOT_POSTGRESQL)])
    if isinstance(target, str):
        return _in_memory if target == _MEMORY else functools.partial(_in_sqlite, _read_url(target))
    if isinstance(target, os.PathLike):
        return functools.partial(_in_sqlite, _read_path(os.fspath(target)))
    if _lacks(target, EventStore):
        raise _refused_target(_NEEDS_A_TARGET)
    return functools.partial(_of_host, cast("EventStore", target))


@asynccontextmanager
async def _of_host(store: EventStore, _clock: Clock | None) -> AsyncIterator[EventStore]:
    yield store


@asynccontextmanager
async def _in_memory(clock: Clock | None) -> AsyncIterator[EventStore]:
    store = MemoryEventStore(_clock_or_systems(clock))
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _in_sqlite(path: str, clock: Clock | None) -> AsyncIterator[EventStore]:
    store = await SqliteEventStore.open(path, _clock_or_systems(clock))
    try:
        yield store
    finally:
        await store.close()


def _in_postgres(url: str, schema: str) -> OpenStore:
    require_driver()
    from pausemesh.stores.postgres_pool import open_postgres_store, read_address  # noqa: PLC0415 - an optional extra

    return functools.partial(open_postgres_store, read_address(url), schema)


def _clock_or_systems(clock: Clock | None) -> Clock:
    return SystemClock() if clock is None else clock


def _read_schema(schema: object) -> str:
    if not isinstance(schema, str):
        raise InvalidRequest(issues=[Issue("/schema", "type", "must be text")])
    check_schema_name(schema)
    return schema


def _read_url(url: str) -> str:
    """Return the path of a SQLite file."""
    if match := _SQLITE.fullmatch(url):
        return _read_path(match["path"])
    is_sqlite = url.partition(":")[0].lower() == "sqlite"
    raise _refused_target(_NEEDS_SQLITE_FORM if is_sqlite else _NEEDS_A_TARGET)


def _read_path(path: object) -> str:
    if path == ":memory:":
        raise _refused_target(_NO_SQLITE_MEMORY)
    if not isinstance(path, str) or not path or _NO_FILE_NAME.search(path):
        raise _refused_target(_NO_PATH)
    return path


def _refused_target(message: str) -> InvalidRequest:
    # The target itself is not repeated: an address can have a password in it.
    return InvalidRequest(issues=[Issue("/target", "target", message)])


def _with_methods(port: PortT, protocol: type, path: str) -> PortT:
    if lacking := _lacks(port, protocol):
        raise InvalidRequest(issues=[Issue(path, "type", f"must be an object with {', '.join(lacking)}")])
    return port


def _lacks(port: object, protocol: type) -> list[str]:
    """Return the protocol's methods that an object does not have; a class, which is none yet, has not one."""
    names = [name for name in vars(protocol) if not name.startswith("_")]
    return [name for name in names if isinstance(port, type) or not callable(getattr(port, name, None))]
