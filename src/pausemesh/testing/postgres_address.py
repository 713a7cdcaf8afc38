"""A PostgreSQL that can be reached, whoever runs it, and a schema in it for one test."""

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

_LOCK_SECONDS: Final = 10
"""How long dropping a schema waits for a transaction that a test left open."""


class PostgresAddress:
    """A server by its address.

    Args:
        url: ``postgresql://…`` of a superuser.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def url(self) -> str:
        """The address, for a superuser."""
        return self._url

    @property
    def version(self) -> int:
        """The server's version as a number: 180006 is 18.6."""
        with psycopg.connect(self.url) as connection:
            return connection.info.server_version

    def url_of(self, role: str | None = None, password: str | None = None, *, database: str | None = None) -> str:
        """Return the address for another role, or in another database, or both; all else of it stays.

        Args:
            role: without one, it is the superuser's address.
            password: of the role.
            database: without one, it is the same.
        """
        place = urlsplit(self.url)
        user, _, host = place.netloc.rpartition("@")
        if role is not None:
            secret = "" if password is None else f":{quote(password, safe='')}"
            user = f"{quote(role, safe='')}{secret}"
        path = place.path if database is None else f"/{quote(database, safe='')}"
        return place._replace(netloc=f"{user}@{host}", path=path).geturl()

    def new_role(self, name: str) -> str:
        """Make a role that may log in, with a password of its own, and return the address for it."""
        password = secrets.token_hex(16)
        command = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password))
        self.execute(command.as_string())
        return self.url_of(name, password)

    def execute(self, script: str) -> list[tuple[Any, ...]]:
        """Run one statement, or several in one transaction, as superuser; return the rows of the last."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(script.encode())
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def schema_of_its_own(server: PostgresAddress) -> Iterator[str]:
    """Yield the name of a schema that is not there yet.

    Afterwards it is dropped with all it holds, and so are the roles whose names begin with its name.
    """
    name = f"mesh_{secrets.token_hex(6)}"
    yield name
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'".encode())
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
        roles = connection.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s)", [name])
        for (role,) in roles.fetchall():
            connection.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(role)))
