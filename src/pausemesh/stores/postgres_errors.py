"""What a PostgreSQL server refuses, in the words of a store."""

from collections.abc import Callable
from typing import Final

from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from pausemesh.core.errors import (
    InvalidRequest,
    PauseMeshError,
    SchemaMissing,
    StoreCorrupt,
    StoreFull,
    StoreUnavailable,
    StoreUnsafe,
)

_ROW_IS_THERE: Final = "23505"
_AUDIT_KEY: Final = "audit_log_pkey"
_TRY_AGAIN: Final = frozenset({"40001", "40P01"})
_READ_ONLY: Final = "25006"
_ENDINGS: Final = frozenset({"FATAL", "PANIC"})
_OF_DATA: Final = frozenset({"22", "23", "54"})

_MEANINGS: Final[dict[str, Callable[[], PauseMeshError]]] = {
    "23505": lambda: StoreCorrupt("What is written is there already, without the head that belongs to it."),
    "25001": lambda: StoreUnsafe("The isolation level must be READ COMMITTED."),
    _READ_ONLY: lambda: StoreUnavailable("The server takes no writes, as a standby does not."),
    "42501": lambda: StoreUnsafe("The database role lacks a right; pausemesh migrate --print-roles has them all."),
    "53100": StoreFull,
    "54000": lambda: InvalidRequest("A name is longer than an index of PostgreSQL takes."),
    "55P03": lambda: StoreUnavailable("Another writer holds the order lock, and did not finish in time."),
}
_MEANINGS_OF_CLASSES: Final[dict[str, Callable[[], PauseMeshError]]] = {
    "22": lambda: InvalidRequest("PostgreSQL cannot keep one of the values."),
    "23": lambda: StoreCorrupt("What is written does not fit what is stored."),
    "3F": lambda: SchemaMissing("The schema, or a part of it, is not there."),
    "42": lambda: SchemaMissing("The schema, or a part of it, is not there."),
    "XX": lambda: StoreCorrupt("The server found its own files damaged."),
}


class ConnectionLost(Exception):
    """The server did not answer, or not in time: whatever was sent may have been done."""


class ServerRefused(Exception):
    """The server answered with an error: nothing of what was sent was done."""

    def __init__(self, sqlstate: str, constraint: str = "") -> None:
        self.sqlstate = sqlstate
        self.constraint = constraint
        super().__init__(sqlstate)

    @property
    def is_passing(self) -> bool:
        """Tell whether the very same may succeed now: two transactions were in each other's way."""
        return self.sqlstate in _TRY_AGAIN

    @property
    def is_of_data(self) -> bool:
        """Tell whether one of several calls may be to blame: a value, a row that is there, a name that is too long."""
        return self.sqlstate[:2] in _OF_DATA

    @property
    def is_of_standby(self) -> bool:
        """Tell whether another server takes the writes."""
        return self.sqlstate == _READ_ONLY

    def meaning(self) -> PauseMeshError:
        """Return what a caller is told: without the server's words, which quote values."""
        if self.sqlstate == _ROW_IS_THERE and self.constraint == _AUDIT_KEY:
            return InvalidRequest("An audit row with this id is stored already.")
        make = _MEANINGS.get(self.sqlstate) or _MEANINGS_OF_CLASSES.get(self.sqlstate[:2])
        return StoreUnavailable(f"The server refused, with SQLSTATE {self.sqlstate}.") if make is None else make()


def error_in(result: PGresult) -> ServerRefused | ConnectionLost:
    """Return the error that a result is.

    A server that ends the connection may do so after the commit, while that waits for a standby; and what has no
    SQLSTATE the server did not say.
    """
    severity, sqlstate, constraint = (
        (result.error_field(field) or b"").decode("ascii", "replace")
        for field in (
            DiagnosticField.SEVERITY_NONLOCALIZED,
            DiagnosticField.SQLSTATE,
            DiagnosticField.CONSTRAINT_NAME,
        )
    )
    return ConnectionLost() if severity in _ENDINGS or not sqlstate else ServerRefused(sqlstate, constraint)
