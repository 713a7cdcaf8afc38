"""What a PostgreSQL database is found to be by the readiness of its store, with what to do where it is not ready."""

from typing import Final

from pausemesh import SchemaError, SchemaMissing, SchemaNewer, StoreError, StoreUnsafe
from pausemesh.cli.health import Check, fail, ok

READY: Final = (
    ok("server", "every commit is flushed to the disk, and the role has its rights and is no superuser"),
    ok("schema", "exactly the one of this release"),
)
"""What ``check_ready`` of the store says by passing."""


def refusal_of_postgres(error: StoreError) -> Check:
    """Return what the store said that it is not ready for, as the check that it belongs to."""
    text = str(error)
    match error:
        case SchemaMissing():
            return fail("schema", text, "Run pausemesh migrate, which makes it or brings it up to date.")
        case SchemaNewer():
            return fail("schema", text, "Use the release that made it.")
        case SchemaError():
            return fail("schema", text, "Use the release that made it, or go back to a backup.")
        case StoreUnsafe():
            advice = "Set it as it says, or use a role with the rights of pausemesh migrate --print-roles and no more."
            return fail("server", text, advice)
        case _:
            return fail("open", text, "See whether the server of PAUSEMESH_DATABASE_URL runs and lets the role in.")
