"""The SQL of the stores: one statement a file, read once."""

import functools
import hashlib
from importlib import resources
from typing import Final, NamedTuple

_SQL: Final = resources.files("pausemesh.stores") / "sql"
_COMMENT: Final = "--"


class Migration(NamedTuple):
    """A numbered script; ``checksum`` is the SHA-256 of its text in hexadecimal."""

    number: int
    name: str
    sql: str
    checksum: str


@functools.cache
def statement(dialect: str, name: str) -> str:
    """Return the statement in ``sql/<dialect>/<name>.sql`` without its comment lines."""
    text = (_SQL / dialect / f"{name}.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(_COMMENT)]
    return "\n".join(lines).strip()


@functools.cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the migrations ``sql/<dialect>/migrations/NNNN_name.sql`` by their numbers."""
    folder = _SQL / dialect / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple([_migration(name, (folder / name).read_text(encoding="utf-8")) for name in names])


def _migration(file_name: str, sql: str) -> Migration:
    number, _, name = file_name.removesuffix(".sql").partition("_")
    return Migration(int(number), name, sql, hashlib.sha256(sql.encode()).hexdigest())
