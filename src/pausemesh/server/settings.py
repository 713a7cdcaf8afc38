"""The settings of a server, defined once: flag, environment variable and TOML entry have the same name."""

import contextlib
import dataclasses
import ipaddress
import os
import re
import secrets
import stat
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter, Token

from pausemesh.core import limits as core_limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.limits import JsonLimits
from pausemesh.core.policy import Policy
from pausemesh.server import limits
from pausemesh.stores.postgres_schema_name import DEFAULT_SCHEMA, check_schema_name

ENVIRONMENT_PREFIX: Final = "PAUSEMESH_"
IN_MEMORY: Final = ":memory:"
DATABASE_FILE: Final = "./data/pausemesh.db"
"""Which database a server uses that is told of none."""

LogLevel = Literal["debug", "info", "warning", "error"]
Parser = Literal["httptools", "h11"]

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_PORT_MAX: Final = 65_535
_LIFETIME_MIN_SECONDS: Final = 30
_PAYLOAD_MIN_BYTES: Final = 1_024
_PAYLOAD_MAX_BYTES: Final = 10_485_760
_PER_MINUTE_MAX: Final = 100_000
_SECRET_MIN_CHARACTERS: Final = 32
_SECRET_BYTES: Final = 32


class SettingsError(ValueError):
    """A setting is not what it must be; its text is one line that says which and why."""


def _whole_number(_type: object, tokens: Sequence[Token]) -> int:
    """Read digits, and nothing that would have to be rounded."""
    text = tokens[0].value
    if not _WHOLE_NUMBER.fullmatch(text):
        message = "must be a whole number"
        raise ValueError(message)
    return int(text)


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server is told when it starts."""

    host: Annotated[str, Parameter(help="Address to listen on; other than loopback only once an API key exists.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int, Parameter(converter=_whole_number, help="Port to listen on, 0 to 65535; 0 takes a free one.")
    ] = 8787
    database_path: Annotated[
        str | None,
        Parameter(
            help=f"SQLite file, made with its folder where there is none, {DATABASE_FILE} where left out; :memory: "
            "keeps nothing. Not beside PAUSEMESH_DATABASE_URL, which names a PostgreSQL database."
        ),
    ] = None
    database_schema: Annotated[str, Parameter(help="Schema in that database; `pausemesh migrate` makes it.")] = (
        DEFAULT_SCHEMA
    )
    lifetime_seconds: Annotated[
        int, Parameter(converter=_whole_number, help="Life of a question that names no expiry, at least 30.")
    ] = core_limits.LIFETIME_SECONDS
    max_lifetime_seconds: Annotated[
        int, Parameter(converter=_whole_number, help="The longest life that a question may ask for.")
    ] = core_limits.LIFETIME_MAX_SECONDS
    max_payload_bytes: Annotated[
        int, Parameter(converter=_whole_number, help="Limit of a body and of each value in it, 1024 to 10485760.")
    ] = core_limits.PAYLOAD_BYTES
    mutations_per_minute: Annotated[
        int, Parameter(converter=_whole_number, help="Answers that an operator may give a minute, 1 to 100000.")
    ] = limits.MUTATIONS_PER_MINUTE
    secret_keys: Annotated[
        str | None,
        Parameter(
            help="Secrets for cursors and positions, by commas: the first signs, all are accepted; "
            "made beside a database file where left out, and needed with PostgreSQL."
        ),
    ] = None
    secret_keys_file: Annotated[str | None, Parameter(help="File that holds the secrets instead.")] = None
    public_url: Annotated[str | None, Parameter(help="Where clients reach this server, for /openapi.json.")] = None
    trusted_proxies: Annotated[
        str | None, Parameter(help="Addresses, by commas, whose X-Forwarded-For and -Proto are believed.")
    ] = None
    log_level: Annotated[LogLevel, Parameter(help="What is logged.")] = "info"
    parser: Annotated[Parser, Parameter(help="HTTP parser of uvicorn.")] = "httptools"

    def __post_init__(self) -> None:
        _require_range("port", self.port, 0, _PORT_MAX)
        _require_range("max_lifetime_seconds", self.max_lifetime_seconds, _LIFETIME_MIN_SECONDS, _LONGEST_SECONDS)
        _require_range("lifetime_seconds", self.lifetime_seconds, _LIFETIME_MIN_SECONDS, self.max_lifetime_seconds)
        _require_range("max_payload_bytes", self.max_payload_bytes, _PAYLOAD_MIN_BYTES, _PAYLOAD_MAX_BYTES)
        _require_range("mutations_per_minute", self.mutations_per_minute, 1, _PER_MINUTE_MAX)
        if not self.host or not self.host.isprintable():
            raise _bad("host", "must name an address")
        if not self.database_file or "\0" in self.database_file:
            raise _bad("database_path", "must name a file")
        try:
            check_schema_name(self.database_schema)
        except InvalidRequest as error:
            raise _bad("database_schema", f"is refused: {error.detail}".removesuffix(".")) from None
        if self.secret_keys is not None and self.secret_keys_file is not None:
            raise _bad("secret_keys", "and its file exclude each other")
        if self.public_url is not None and not self.public_url.startswith(("http://", "https://")):
            raise _bad("public_url", "must begin with http:// or https://")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def database_file(self) -> str:
        """The file, where the database is one."""
        return DATABASE_FILE if self.database_path is None else self.database_path

    @property
    def is_in_memory(self) -> bool:
        """Whether nothing is kept."""
        return self.database_path == IN_MEMORY

    @property
    def own_secret_path(self) -> Path:
        """Where the secret is that the first start makes."""
        return Path(f"{self.database_file}.secret")

    def policy(self, own_secret: Callable[[], str] | None = None) -> Policy:
        """Return what the mesh is told.

        Args:
            own_secret: as for ``secrets``.

        Raises:
            SettingsError: the secrets cannot be had.
        """
        return Policy(
            lifetime=timedelta(seconds=self.lifetime_seconds),
            max_lifetime=timedelta(seconds=self.max_lifetime_seconds),
            json_limits=JsonLimits(max_bytes=self.max_payload_bytes),
            cursor_keys=tuple(secret.encode() for secret in self.secrets(own_secret)),
        )

    def secrets(self, own_secret: Callable[[], str] | None = None) -> tuple[str, ...]:
        """Return the secrets, newest first.

        Args:
            own_secret: gives one where none is set; the one beside the database file, where it is left out.

        Raises:
            SettingsError: there are none where some are named, one is short, or the file cannot be read or made.
        """
        text = self.secret_keys
        if self.secret_keys_file is not None:
            text = _read_file(Path(self.secret_keys_file))
        if text is None:
            text = (own_secret or self._own_secret)()
        found = tuple(part.strip() for part in text.split(",") if part.strip())
        if not found or min(map(len, found)) < _SECRET_MIN_CHARACTERS:
            raise _bad("secret_keys", f"must be one or more of at least {_SECRET_MIN_CHARACTERS} characters each")
        return found

    def _own_secret(self) -> str:
        """Return the secret beside the database, made at the first start for its owner's eyes alone."""
        if self.is_in_memory:
            return new_secret()
        if not self.own_secret_path.exists():
            _make_secret(self.own_secret_path)
        return _read_file(self.own_secret_path)


_LONGEST_SECONDS: Final = core_limits.LIFETIME_CEILING_SECONDS


def new_secret() -> str:
    """Return a secret that nobody else knows."""
    return secrets.token_hex(_SECRET_BYTES)


def refuse_own_secret() -> str:
    """Give no secret: the servers that share a database must share it, and only who starts them all can see to that.

    Raises:
        SettingsError: always.
    """
    raise _bad("secret_keys", "or its file must be set: all servers on one PostgreSQL database need the same")


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise _bad("secret_keys_file", "cannot be read") from None


def _require_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise _bad(name, f"must be {least} to {most}")


def _bad(name: str, message: str) -> SettingsError:
    return SettingsError(f"{ENVIRONMENT_PREFIX}{name.upper()} {message}")


def _make_secret(path: Path) -> None:
    """Write a secret for the owner's eyes alone; of several that start at once the first one's stays."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{new_secret()}\n")
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    except OSError:
        raise _bad("secret_keys", "cannot be made beside the database") from None
