"""``pausemesh serve`` and ``pausemesh dev``."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pausemesh.adapters.clock import SystemClock
from pausemesh.cli.database import Database, PostgresSchema, Store, database_of
from pausemesh.cli.ending import require_output
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.health_of_postgres import refusal_of_postgres
from pausemesh.cli.refusal import Refused
from pausemesh.cli.terminal import let_go
from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.errors import StoreError
from pausemesh.core.policy import Policy
from pausemesh.core.principal import Role
from pausemesh.opening import open as open_mesh
from pausemesh.ports import Observer
from pausemesh.server.app import create_app, paths
from pausemesh.server.process import Process, StopSignals, listen
from pausemesh.server.settings import Settings, SettingsError, new_secret, refuse_own_secret
from pausemesh.service.mesh import Mesh
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.telemetry.log import LogObserver, configure_log
from pausemesh.telemetry.metrics import Metrics
from pausemesh.telemetry.observers import Observers


def serve(settings: Settings | None = None, *, port_file: Annotated[Path | None, Parameter(show=False)] = None) -> int:
    """Serve HTTP until SIGTERM or SIGINT."""
    return _run(settings or Settings(), port_file=port_file, is_dev=False)


def dev(settings: Settings | None = None) -> int:
    """Serve HTTP on this machine, with an admin's key made at the first start."""
    return _run(settings or Settings(), port_file=None, is_dev=True)


def _run(settings: Settings, *, port_file: Path | None, is_dev: bool) -> int:
    end_log = configure_log(settings.log_level, sys.stderr, in_background=True)
    # What it says of its own start and stop, this process says itself.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    try:
        with StopSignals() as signals, asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(settings, signals, port_file=port_file, is_dev=is_dev))
    except Refused as refusal:
        print(f"pausemesh: {refusal}", file=sys.stderr)
        return int(refusal.exit)
    except (SettingsError, PauseMeshError, OSError) as error:
        print(f"pausemesh: {error}", file=sys.stderr)
        return int(Exit.USAGE)
    finally:
        end_log()
    return 0


async def _serve(settings: Settings, signals: StopSignals, *, port_file: Path | None, is_dev: bool) -> None:
    metrics = Metrics(paths())
    database = database_of(settings)
    async with _store(settings, database) as store:
        policy = _policy(settings, database, is_dev=is_dev)
        opening = open_mesh(store, policy=policy, observer=_observer(settings, metrics), clock=SystemClock())
        async with opening as mesh:
            if is_dev:
                await _show_key(mesh)
            if not settings.is_loopback and not await mesh.has_keys():
                raise SettingsError(
                    "PAUSEMESH_HOST reaches beyond this machine, and no API key exists: make one with "
                    f"`pausemesh keys create --role admin{database.flag}`"
                )
            app = create_app(
                mesh,
                readiness_probe=store,
                metrics=metrics,
                json_limits=policy.json_limits,
                mutations_per_minute=settings.mutations_per_minute,
                is_loopback=settings.is_loopback,
                public_url=settings.public_url,
            )
            with contextlib.closing(_listen(settings)) as bound:
                process = Process(app, parser=settings.parser, trusted_proxies=settings.trusted_proxies)
                signals.stop(process)
                _announce(bound, port_file)
                await process.serve([bound])


def _policy(settings: Settings, database: Database, *, is_dev: bool) -> Policy:
    """Return what the mesh is told; a secret of its own serves a database that this server has for itself."""
    if isinstance(database, PostgresSchema):
        return settings.policy(new_secret if is_dev else refuse_own_secret)
    return settings.policy()


def _listen(settings: Settings) -> socket.socket:
    try:
        return listen(settings.host, settings.port)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no name of a host"
        raise SettingsError(f"cannot listen on {settings.host} port {settings.port}: {reason}") from None


def _observer(settings: Settings, metrics: Metrics) -> Observer:
    """Return who is told what happens: the counts always, the log where it is not too quiet to say it."""
    return Observers(metrics, LogObserver()) if settings.log_level in {"debug", "info"} else metrics


@contextlib.asynccontextmanager
async def _store(settings: Settings, database: Database) -> AsyncIterator[Store]:
    async with contextlib.AsyncExitStack() as stack:
        if settings.is_in_memory:
            store: Store = MemoryEventStore(SystemClock())
            stack.push_async_callback(store.close)
        elif isinstance(database, PostgresSchema):
            store = await _ready(database, stack)
        else:
            store = await stack.enter_async_context(database.open_store(create=True))
        yield store


async def _ready(database: PostgresSchema, stack: contextlib.AsyncExitStack) -> Store:
    """Open a store that this server may use, however many others do."""
    try:
        store = await stack.enter_async_context(database.open_store(create=False))
        await store.check_ready()
    except StoreError as error:
        raise SettingsError(f"{error} {refusal_of_postgres(error).advice}") from None
    return store


async def _show_key(mesh: Mesh) -> None:
    """Make an admin's key where none exists, and print it: it is seen here and never again.

    Raises:
        Refused: nobody could see it.
    """
    if await mesh.has_keys():
        _say("An API key exists already; `pausemesh keys create --role admin` makes another.")
        return
    require_output()
    created = await mesh.create_key(role=Role.ADMIN, label="pausemesh dev")
    _say(f"API key (admin), shown once: {created.text}")


def _say(line: str) -> None:
    """Print a line in one piece, since the log may be written to the same terminal at the same time."""
    print(f"{line}\n", end="", flush=True)


def _announce(bound: socket.socket, port_file: Path | None) -> None:
    host, port = bound.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    try:
        _say(f"PauseMesh listens on http://{name}:{port}")
    except OSError:  # whoever reads its output no more may still want it to serve
        let_go(sys.stdout)
    if port_file is not None:
        port_file.write_text(str(port), encoding="ascii")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # noqa: PLC0415 - there is none for Windows
    except ImportError:
        return asyncio.SelectorEventLoop  # the driver of PostgreSQL needs one
    return uvloop.new_event_loop
