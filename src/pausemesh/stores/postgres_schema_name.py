"""Which names a schema of PostgreSQL may have here: those that need no thought about quotes or folding."""

import re
from typing import Final

from pausemesh.core.errors import InvalidRequest

DEFAULT_SCHEMA: Final = "pausemesh"

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_RESERVED: Final = re.compile(r"pg_.*|information_schema")


def check_schema_name(name: str) -> None:
    """Pass a name of 1 to 63 lower-case letters, digits and underscores that is not PostgreSQL's own.

    Raises:
        InvalidRequest: it is another one.
    """
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
        raise InvalidRequest(
            "The schema's name must have 1 to 63 lower-case letters, digits and underscores, not begin with a digit,"
            " and not be one of PostgreSQL's own."
        )
