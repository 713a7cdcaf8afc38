"""``pausemesh migrate``."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from pausemesh import InvalidRequest
from pausemesh.cli.configuration import refused_as_request, settings_of_database
from pausemesh.cli.database import postgres_url
from pausemesh.cli.ending import run
from pausemesh.cli.place import AsJson
from pausemesh.cli.terminal import print_json
from pausemesh.stores.postgres_extra import require_driver
from pausemesh.stores.postgres_schema_name import check_schema_name

MIGRATION_DATABASE_URL: Final = "PAUSEMESH_MIGRATION_DATABASE_URL"

_CONTINUATIONS: Final = "continuations"


def migrate(
    *,
    schema: str | None = None,
    print_roles: Annotated[bool | Literal["continuations"], Parameter(negative=(), show_default=False)] = False,
    role: str = "pausemesh",
    as_json: AsJson = False,
) -> int:
    """Make the schema of a PostgreSQL database, or bring it up to date.

    Args:
        schema: its name; PAUSEMESH_DATABASE_SCHEMA or "pausemesh" where it is left out.
        print_roles: print the SQL for a server's role, and do nothing else; with =continuations for fewer rights.
        role: whose rights are printed.
        as_json: print {schema, applied} as JSON.
    """

    def work() -> None:
        name = _schema(schema)
        if print_roles is False:
            _show(name, _migrate(name), as_json=as_json)
            return
        if as_json:
            raise InvalidRequest("--print-roles prints SQL; leave --json out.")
        require_driver()
        from pausemesh.stores.postgres_roles import grants  # noqa: PLC0415 - an optional extra

        print(grants(name, role, continuations_only=print_roles == _CONTINUATIONS), end="")

    return run(work, as_json=as_json, changes=True)


def _schema(given: str | None) -> str:
    if given is not None:
        check_schema_name(given)
        return given
    with refused_as_request():
        return settings_of_database().database_schema


def _migrate(schema: str) -> Sequence[int]:
    with refused_as_request():
        url = postgres_url(MIGRATION_DATABASE_URL)
    if url is None:
        raise InvalidRequest(
            f"{MIGRATION_DATABASE_URL} is not set; it names the database with a role that may create the schema."
        )
    return asyncio.run(_on_database(url, schema))


async def _on_database(url: str, schema: str) -> Sequence[int]:
    from pausemesh.stores.postgres_pool import open_pool, read_address  # noqa: PLC0415 - an optional extra
    from pausemesh.stores.postgres_schema import migrate_postgres_event_store  # noqa: PLC0415 - see above

    async with open_pool(read_address(url), most=1) as pool:
        return await migrate_postgres_event_store(pool, schema)


def _show(schema: str, applied: Sequence[int], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": schema, "applied": [*applied]})
    elif applied:
        print(f"Schema {schema}: applied {', '.join(map(str, applied))}. Servers need another role; see --print-roles.")
    else:
        print(f"Schema {schema} is up to date; there was nothing to do.")
