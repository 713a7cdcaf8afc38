"""What a role may do at run time: the least that works, and never a deletion."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pausemesh.core.errors import InvalidRequest
from pausemesh.stores.postgres_objects import expected_objects
from pausemesh.stores.postgres_schema_name import check_schema_name

_MOST_BYTES: Final = 63
_PUBLIC: Final = frozenset({"public", "none"})

_OF_CONTINUATIONS: Final = {"heads": ("INSERT", "UPDATE"), "events": ("INSERT",)}
_OF_THE_REST: Final = {"audit_log": ("INSERT",), "beats": ("INSERT", "UPDATE")}
_FUNCTIONS_OF_THE_REST: Final = frozenset({"beat_1"})
_RESULT_OF_TRIGGERS: Final = "result trigger"
"""A trigger's function is called by whoever changes the table, and needs no right."""


class Right(NamedTuple):
    """A privilege on an object of the schema; ``kind`` is SCHEMA, TABLE or FUNCTION, and the schema has no name."""

    kind: str
    name: str
    privilege: str


def rights(*, continuations_only: bool = False) -> tuple[Right, ...]:
    """Return what a role needs: for everything, or for the life of continuations without audit and beats."""
    return tuple(_rights(continuations_only=continuations_only))


def grants(schema: str, role: str, *, continuations_only: bool = False) -> str:
    """Return the SQL script that gives a role these rights, for a superuser or the schema's owner to run.

    Raises:
        InvalidRequest: a name cannot be one.
    """
    check_schema_name(schema)
    grantee = _quoted(role)
    return "".join(
        f"GRANT {right.privilege} ON {right.kind} {_place(schema, right)} TO {grantee};\n"
        for right in rights(continuations_only=continuations_only)
    )


def _rights(*, continuations_only: bool) -> Iterator[Right]:
    yield Right("SCHEMA", "", "USAGE")
    writing = _OF_CONTINUATIONS if continuations_only else {**_OF_CONTINUATIONS, **_OF_THE_REST}
    for (kind, name), description in expected_objects().items():
        if kind == "table":
            for privilege in ("SELECT", *writing.get(name, ())):
                yield Right("TABLE", name, privilege)
        is_called = kind == "function" and _RESULT_OF_TRIGGERS not in description.splitlines()
        if is_called and not (continuations_only and name in _FUNCTIONS_OF_THE_REST):
            yield Right("FUNCTION", name, "EXECUTE")


def _place(schema: str, right: Right) -> str:
    return f'"{schema}"."{right.name}"' if right.name else f'"{schema}"'


def _quoted(role: str) -> str:
    is_name = 0 < len(role.encode(errors="replace")) <= _MOST_BYTES and role.isprintable()
    if not is_name or role in _PUBLIC or role.startswith("pg_"):
        raise InvalidRequest("The role's name must have 1 to 63 printable bytes and not be one of PostgreSQL's own.")
    escaped = role.replace('"', '""')
    return f'"{escaped}"'
