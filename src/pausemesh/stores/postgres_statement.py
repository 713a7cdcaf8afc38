"""The statements for PostgreSQL, in a schema of any name."""

import functools
import re
from typing import Final, NamedTuple

from pausemesh.stores.statements import statement

_SCHEMA: Final = re.compile(r"\bpausemesh\.")


class Statement(NamedTuple):
    """A statement in one schema; ``name`` is what it is prepared as."""

    name: bytes
    sql: bytes


def in_schema(schema: str, sql: str) -> str:
    """Return SQL with the schema's name where the files say pausemesh; it was checked to need no more than quotes."""
    return _SCHEMA.sub(f'"{schema}".', sql)


@functools.cache
def statement_in(schema: str, name: str) -> Statement:
    """Return the statement in ``sql/postgres/<name>.sql``."""
    return Statement(f"pausemesh_{name}".encode(), in_schema(schema, statement("postgres", name)).encode())
