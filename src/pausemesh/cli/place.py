"""Where the questions and the keys are: the flags and the environment that say so, read here and nowhere else."""

import asyncio
import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from cyclopts import Parameter

from pausemesh import BlockingMesh, InvalidRequest, SqliteEventStore, StoreUnavailable, SystemClock, open_sync
from pausemesh.cli.configuration import configured_database
from pausemesh.cli.local_questions import LocalQuestions, local_principal
from pausemesh.cli.plain_text import plain
from pausemesh.cli.questions import Questions
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.server.settings import SettingsError

DATABASE_PATH: Final = "PAUSEMESH_DATABASE_PATH"
URL: Final = "PAUSEMESH_URL"
API_KEY: Final = "PAUSEMESH_API_KEY"
API_KEY_FILE: Final = "PAUSEMESH_API_KEY_FILE"

_KEY_FILE_BYTES: Final = 1_024


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which questions are meant.

    Args:
        database_path: a SQLite file on this machine; else PAUSEMESH_URL with PAUSEMESH_API_KEY, else
            PAUSEMESH_DATABASE_PATH, else ./data/pausemesh.db.
        scope: the project or tenant in a database of this machine, "default" where it is left out; on a server the
            key says which.
    """

    database_path: Annotated[Path | None, Parameter(show_default=False)] = None
    scope: Annotated[str | None, Parameter(show_default=False)] = None


HERE: Final = Place()

AsJson: TypeAlias = Annotated[bool, Parameter(name="--json", negative=(), show_default=False)]
"""Whether a command prints JSON."""


@contextlib.contextmanager
def open_questions(place: Place) -> Iterator[Questions]:
    """Open the questions that are meant, for the length of a block.

    Raises:
        InvalidRequest: the flags and the environment contradict each other.
        StoreUnavailable: there is no such database.
    """
    server = _server(place)
    if server is not None:
        from pausemesh.cli.http_questions import HttpQuestions  # noqa: PLC0415 - a local call needs no HTTP client

        if place.scope is not None:
            raise InvalidRequest("On a server the key decides the scope; leave --scope out.")
        with HttpQuestions(*server) as questions:
            yield questions
        return
    path, scope = database_path(place.database_path), place.scope or DEFAULT_SCOPE
    with open_database(path, scope, create=False) as mesh:
        where = f"{path}, scope {scope}" if scope != DEFAULT_SCOPE else str(path)
        yield LocalQuestions(mesh, local_principal(scope), where)


@contextlib.contextmanager
def open_database(path: Path, scope: str, *, create: bool) -> Iterator[BlockingMesh]:
    """Open a database of this machine, for the length of a block; otherwise as ``open_store``."""
    store = asyncio.run(open_store(path, create=create))
    try:
        with open_sync(store, scope=scope) as mesh:
            yield mesh
    finally:
        asyncio.run(store.close())


async def open_store(path: Path, *, create: bool = False) -> SqliteEventStore:
    """Open a database of this machine; ``create`` makes it with its folder, or brings an older one up to date.

    Raises:
        StoreUnavailable: it is not there, or cannot be opened.
        StoreCorrupt, StoreUnsafe, SchemaError: it cannot be used, or is one to be made or brought up to date.
    """
    if not create:
        _require_there(path)
    return await SqliteEventStore.open(path, SystemClock(), create=create)


def _require_there(path: Path) -> None:
    if not path.exists():
        raise StoreUnavailable(
            f"There is no database at {path}. Name one with --database-path or {DATABASE_PATH}; the questions of a "
            f"server are named by {URL} and {API_KEY}."
        )


def database_path(given: Path | None) -> Path:
    """Return which database of this machine is meant: the flag's, or the one that a server would use.

    Raises:
        InvalidRequest: the settings name no file, or cannot be read.
    """
    if given is not None:
        return given
    try:
        settings = configured_database()
    except SettingsError as error:
        raise InvalidRequest(f"{error}.") from None
    if settings.is_in_memory:
        raise InvalidRequest(
            f"{DATABASE_PATH} keeps everything in a server's memory; name a file with --database-path."
        )
    return Path(settings.database_path)


def _server(place: Place) -> tuple[str, str] | None:
    """Return the address of the server and the key, where both are set and no database is named by a flag."""
    url, key = os.environ.get(URL), _api_key()
    if place.database_path is not None or not url:
        return None
    if not key:
        where = plain(str(database_path(None)))
        print(f"pausemesh: {API_KEY} is not set, so this is about the database {where}.", file=sys.stderr)
        return None
    return url, key


def _api_key() -> str | None:
    key, file = os.environ.get(API_KEY), os.environ.get(API_KEY_FILE)
    if key or not file:
        return key
    try:
        with Path(file).open(encoding="ascii") as opened:
            return opened.read(_KEY_FILE_BYTES).strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"The file that {API_KEY_FILE} names cannot be read.") from None
