"""A database that a command is about: a SQLite file, or a schema in PostgreSQL, whose address is in no message."""

import asyncio
import contextlib
import dataclasses
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from pausemesh import BlockingMesh, InvalidRequest, SqliteEventStore, StoreUnavailable, SystemClock, open_sync
from pausemesh.cli.secret_variables import secret_variable
from pausemesh.ports import EventStore
from pausemesh.server.serving import ReadinessProbe
from pausemesh.server.settings import Settings, SettingsError
from pausemesh.stores.postgres_extra import require_driver

DATABASE_PATH: Final = "PAUSEMESH_DATABASE_PATH"
DATABASE_URL: Final = "PAUSEMESH_DATABASE_URL"


class Store(EventStore, ReadinessProbe, Protocol):
    """A store that can tell whether it is ready."""


@dataclasses.dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def flag(self) -> str:
        """What other commands are told, to be about the same one."""
        return f" --database-path {shlex.quote(str(self))}"

    @contextlib.contextmanager
    def open(self, scope: str, *, create: bool) -> Iterator[BlockingMesh]:
        """Open a mesh for the length of a block; otherwise as ``open_store``."""
        store = asyncio.run(self._open(create=create))
        try:
            with open_sync(store, scope=scope) as mesh:
                yield mesh
        finally:
            asyncio.run(store.close())

    @contextlib.asynccontextmanager
    async def open_store(self, *, create: bool) -> AsyncIterator[Store]:
        """Open a store for the length of a block; ``create`` makes the file, or brings an older one up to date.

        Raises:
            StoreUnavailable: it is not there, or cannot be opened.
            StoreCorrupt, StoreUnsafe, SchemaError: it cannot be used, or is one to be made or brought up to date.
        """
        store = await self._open(create=create)
        try:
            yield store
        finally:
            await store.close()

    async def _open(self, *, create: bool) -> SqliteEventStore:
        if not create and not self.path.exists():
            raise StoreUnavailable(
                f"There is no database at {self}. Name one with --database-path, {DATABASE_PATH} or {DATABASE_URL}; "
                "the questions of a server are named by PAUSEMESH_URL and PAUSEMESH_API_KEY."
            )
        return await SqliteEventStore.open(self.path, SystemClock(), create=create)


@dataclasses.dataclass(frozen=True, slots=True)
class PostgresSchema:
    """A schema, by an address that was looked at."""

    url: str = dataclasses.field(repr=False)
    schema: str

    def __str__(self) -> str:
        return f"PostgreSQL, schema {self.schema}"

    @property
    def flag(self) -> str:
        """What other commands are told, to be about the same one: nothing, they read the same environment."""
        return ""

    @contextlib.contextmanager
    def open(self, scope: str, *, create: bool) -> Iterator[BlockingMesh]:  # noqa: ARG002 - `pausemesh migrate` makes it
        """Open a mesh for the length of a block; otherwise as ``open_store``."""
        with open_sync(self.url, schema=self.schema, scope=scope) as mesh:
            yield mesh

    @contextlib.asynccontextmanager
    async def open_store(self, *, create: bool) -> AsyncIterator[Store]:  # noqa: ARG002 - see above
        """Open a store for the length of a block; nothing is made.

        Raises:
            StoreUnavailable, StoreUnsafe, SchemaError: it cannot be used.
        """
        from pausemesh.stores.postgres_pool import open_postgres_store, read_address  # noqa: PLC0415 - an extra

        async with open_postgres_store(read_address(self.url), self.schema, None) as store:
            yield store


Database: TypeAlias = SqliteFile | PostgresSchema


def database_of(settings: Settings) -> Database:
    """Return the database that settings name, with the environment, where an address stands that no flag may hold.

    Raises:
        SettingsError: they name two, or one that keeps nothing, or the address is none.
    """
    url = postgres_url(DATABASE_URL)
    if url is None:
        return SqliteFile(Path(settings.database_file))
    if settings.database_path is not None:
        raise SettingsError(f"{DATABASE_URL} and {DATABASE_PATH} name two databases; leave one out")
    return PostgresSchema(url, settings.database_schema)


def postgres_url(variable: str) -> str | None:
    """Return the address that a variable, or the file that it names, holds; None where there is none.

    Raises:
        SettingsError: it is none of PostgreSQL, or PostgreSQL's driver is not installed.
    """
    try:
        url = secret_variable(variable)
        if url is None:
            return None
        require_driver()
        from pausemesh.stores.postgres_pool import read_address  # noqa: PLC0415 - an extra

        read_address(url)
    except InvalidRequest as error:
        why = " ".join(issue.message for issue in error.issues)
        raise SettingsError(f"{variable} {why}" if why else str(error.detail).removesuffix(".")) from None
    return url
