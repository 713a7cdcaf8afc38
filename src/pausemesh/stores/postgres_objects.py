"""What a schema of PostgreSQL holds, in words, and whether that is what this release needs.

``sql/postgres/objects.txt`` has the words for a schema that was just migrated; `make reference` writes it. An object is
a line with its kind and name, and what there is to say of it stands indented below.
"""

import functools
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Final

from pausemesh.core.errors import SchemaIncomplete
from pausemesh.stores import postgres_values as pg
from pausemesh.stores.postgres_session import PostgresSession
from pausemesh.stores.postgres_statement import statement_in

Objects = dict[tuple[str, str], str]
"""The description of each object by its kind and name; what belongs to a table has its name before a point."""

OBJECTS_FILE: Final = "sql/postgres/objects.txt"
LEDGER: Final = ("table", "migrations")

_INDENT: Final = "  "
_UNEXPECTED: Final = frozenset({"trigger", "rule"})
"""What would do something else than what is written, so that a table may have no more of it."""


async def objects_in(session: PostgresSession, schema: str, *, deadline: float) -> Objects:
    """Return what a schema holds; nothing, where it is not there. It needs no rights.

    Raises:
        ConnectionLost: there was no answer by the deadline of ``time.monotonic``.
        ServerRefused: the server failed.
    """
    together = [(statement_in(schema, "settle_names"), []), (statement_in(schema, "list_objects"), [pg.text(schema)])]
    _, rows = await session.exchange(together, deadline=deadline)
    return {(kind, name): description for kind, name, description in rows}


def verify_objects(actual: Objects) -> None:
    """Pass a schema that holds all that this release needs, as it needs it.

    Raises:
        SchemaIncomplete: an object is missing or altered, or a table does more than it should.
    """
    expected = expected_objects()
    for place, description in expected.items():
        if place not in actual:
            raise SchemaIncomplete(f"The {' '.join(place)} is missing.")
        if actual[place] != description:
            raise SchemaIncomplete(f"The {' '.join(place)} is altered.")
    for kind, name in actual.keys() - expected.keys():
        table, _, _ = name.partition(".")
        if kind in _UNEXPECTED and ("table", table) in expected:
            raise SchemaIncomplete(f"The table {table} has a {kind} that does not belong to it.")


@functools.cache
def expected_objects() -> Objects:
    """Return what the migrations of this release make."""
    text = (resources.files("pausemesh.stores") / OBJECTS_FILE).read_text(encoding="utf-8")
    return dict(_read(text.splitlines()))


def written(objects: Objects) -> str:
    """Return objects as the file has them."""
    return "".join(
        f"{kind} {name}\n" + "".join(f"{_INDENT}{line}\n" for line in description.splitlines())
        for (kind, name), description in sorted(objects.items())
    )


def _read(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], str]]:
    place: tuple[str, str] | None = None
    description: list[str] = []
    for line in lines:
        if line.startswith(_INDENT):
            description.append(line.removeprefix(_INDENT))
            continue
        if place is not None:
            yield place, "\n".join(description)
        kind, _, name = line.partition(" ")
        place, description = (kind, name), []
    if place is not None:
        yield place, "\n".join(description)
