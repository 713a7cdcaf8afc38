"""``pausemesh keys``: the API keys of a database, without a server."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from pausemesh import ApiKey, ApiKeyNotFound, BlockingMesh, InvalidRequest, Role
from pausemesh.cli.durations import age, time_left
from pausemesh.cli.ending import require_output, run
from pausemesh.cli.local_questions import local_principal
from pausemesh.cli.place import AsJson, database_in
from pausemesh.cli.plain_text import plain
from pausemesh.cli.questions import JsonObject
from pausemesh.cli.settling import settle
from pausemesh.cli.terminal import print_json, standard_console
from pausemesh.core import limits
from pausemesh.core.api_key import is_key_text, key_id_of
from pausemesh.core.envelope import optional_time_to_text
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.core.tokens import hash_token
from pausemesh.core.values import time_to_text

_DAYS_MOST = limits.KEY_LIFETIME_MAX_SECONDS // 86_400


def create(
    *,
    role: Role,
    scope: str = DEFAULT_SCOPE,
    expires_days: int | None = None,
    label: str | None = None,
    as_json: AsJson = False,
    database_path: Path | None = None,
) -> int:
    """Make an API key and print it; it is seen here and never again.

    Args:
        role: what its holder may do.
        scope: the project or tenant to which it is confined.
        expires_days: how long it is valid; without it until it is revoked.
        label: what a person knows it by.
        as_json: print {id, key, role, scope, expiresAt} as JSON.
        database_path: a SQLite file, made with its folder where there is none; where it is left out
            PAUSEMESH_DATABASE_URL, else PAUSEMESH_DATABASE_PATH, else ./data/pausemesh.db.
    """

    def work() -> None:
        if expires_days is not None and not 1 <= expires_days <= _DAYS_MOST:
            raise InvalidRequest(f"--expires-days must be 1 to {_DAYS_MOST}.")
        require_output()
        expires_in = None if expires_days is None else timedelta(days=expires_days)
        with database_in(database_path).open(scope, create=True) as mesh:
            made = mesh.create_key(role, scope=scope, expires_in=expires_in, label=label, by=local_principal(scope))
        if not as_json:
            print(made.text)
            return
        key = _key_to_json(made.key)
        members = {name: key[name] for name in ("id", "role", "scope", "expiresAt")}
        print_json(members | {"key": made.text})

    return run(work, as_json=as_json, changes=True)


def list_keys(*, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Show the API keys of all scopes, oldest first; their texts are not kept.

    Args:
        as_json: print {keys} as JSON.
        database_path: as in ``create``; it must be there.
    """

    def work() -> None:
        database = database_in(database_path)
        with database.open(DEFAULT_SCOPE, create=False) as mesh:
            keys = mesh.keys()
        if as_json:
            print_json({"keys": [_key_to_json(key) for key in keys]})
            return
        standard_console().print(_table(keys) if keys else Text(f"There is no API key in {plain(str(database))}."))

    return run(work, as_json=as_json)


def revoke(id: str, /, *, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Take an API key back for good; running servers refuse it within a second.

    Args:
        id: the key's; where its text was found somewhere, that will do as well.
        as_json: print the key as JSON.
        database_path: as in ``create``; it must be there.
    """

    def work() -> None:
        with database_in(database_path).open(DEFAULT_SCOPE, create=False) as mesh:
            key_id = key_id_of(hash_token(id)) if is_key_text(id) else id
            scope = _scope_of(mesh, key_id)
            revoked = settle(lambda: mesh.revoke_key(key_id, by=local_principal(scope)))
        if as_json:
            print_json(_key_to_json(revoked))
            return
        words = f"Revoked at {optional_time_to_text(revoked.revoked_at)}: {revoked.id}"
        standard_console().print(Text(words, overflow="fold"))

    return run(work, as_json=as_json, changes=True)


def _scope_of(mesh: BlockingMesh, key_id: str) -> str:
    """Return the scope whose admin takes a key back: who may open the file is one of every scope."""
    scopes = {key.id: key.scope for key in mesh.keys()}  # noqa: SIM118 - a mesh is no mapping
    if key_id not in scopes:
        raise ApiKeyNotFound
    return scopes[key_id]


def _table(keys: tuple[ApiKey, ...]) -> Table:
    now = datetime.now(UTC)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("id", no_wrap=True)
    for column in ("role", "scope", "label", "age", "time left", "status"):
        table.add_column(column, overflow="fold")
    for key in keys:
        created, expires = time_to_text(key.created_at), optional_time_to_text(key.expires_at)
        cells = (
            key.role.value,
            key.scope,
            key.label or "",
            age(created, now),
            time_left(expires, now),
            _status_of(key),
        )
        table.add_row(key.id, *(Text(plain(cell), overflow="fold") for cell in cells))
    return table


def _key_to_json(key: ApiKey) -> JsonObject:
    return {
        "id": key.id,
        "role": key.role.value,
        "scope": key.scope,
        "label": key.label,
        "createdAt": time_to_text(key.created_at),
        "expiresAt": optional_time_to_text(key.expires_at),
        "revokedAt": optional_time_to_text(key.revoked_at),
        "status": _status_of(key),
    }


def _status_of(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.is_valid(datetime.now(UTC)) else "expired"
