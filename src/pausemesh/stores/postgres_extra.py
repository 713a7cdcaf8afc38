"""Whether the driver of PostgreSQL is there, which is an extra; whoever needs it asks here before importing it."""

from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue


def require_driver() -> None:
    """Pass where the stores in PostgreSQL can be imported.

    Raises:
        InvalidRequest: they cannot; it says what to install.
    """
    try:
        import psycopg  # noqa: F401, PLC0415 - an optional extra
        import psycopg_pool  # noqa: F401, PLC0415 - see above
    except ImportError:
        needs = "needs the driver of PostgreSQL: pip install 'pausemesh[postgres]'"
        raise InvalidRequest(issues=[Issue("/target", "target", needs)]) from None
