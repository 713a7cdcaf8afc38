"""Where the questions and the keys are: the flags and the environment that say so, read here and nowhere else."""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from cyclopts import Parameter

from pausemesh import InvalidRequest
from pausemesh.cli.configuration import refused_as_request, settings_of_database
from pausemesh.cli.database import DATABASE_PATH, Database, SqliteFile, database_of
from pausemesh.cli.local_questions import LocalQuestions, local_principal
from pausemesh.cli.plain_text import plain
from pausemesh.cli.questions import Questions
from pausemesh.cli.secret_variables import secret_variable
from pausemesh.core.principal import DEFAULT_SCOPE

URL: Final = "PAUSEMESH_URL"
API_KEY: Final = "PAUSEMESH_API_KEY"


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which questions are meant.

    Args:
        database_path: a SQLite file on this machine; else PAUSEMESH_URL with PAUSEMESH_API_KEY, else
            PAUSEMESH_DATABASE_URL, else PAUSEMESH_DATABASE_PATH, else ./data/pausemesh.db.
        scope: the project or tenant in a database, "default" where it is left out; on a server the key says which.
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
    database, scope = database_in(place.database_path), place.scope or DEFAULT_SCOPE
    with database.open(scope, create=False) as mesh:
        where = f"{database}, scope {scope}" if scope != DEFAULT_SCOPE else str(database)
        yield LocalQuestions(mesh, local_principal(scope), where)


def database_in(given: Path | None) -> Database:
    """Return which database is meant: the flag's, or the one that a server would use.

    Raises:
        InvalidRequest: the settings name none, or two, or cannot be read.
    """
    if given is not None:
        return SqliteFile(given)
    with refused_as_request():
        settings = settings_of_database()
        database = database_of(settings)
    if settings.is_in_memory:
        raise InvalidRequest(
            f"{DATABASE_PATH} keeps everything in a server's memory; name a file with --database-path."
        )
    return database


def _server(place: Place) -> tuple[str, str] | None:
    """Return the address of the server and the key, where both are set and no database is named by a flag."""
    url, key = os.environ.get(URL), secret_variable(API_KEY)
    if place.database_path is not None or not url:
        return None
    if not key:
        where = plain(str(database_in(None)))
        print(f"pausemesh: {API_KEY} is not set, so this is about the database {where}.", file=sys.stderr)
        return None
    return url, key
