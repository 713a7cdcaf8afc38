"""What an operation is: where it stands, what it takes, what it gives, and who may call it."""

import dataclasses
import enum
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from starlette.types import Receive

from pausemesh.core.principal import Principal
from pausemesh.server.answer import Sendable
from pausemesh.server.errors import Unauthenticated
from pausemesh.server.query import Parameter
from pausemesh.server.serving import Serving
from pausemesh.service.mesh import Mesh


class KeyUse(enum.Enum):
    """Whether an operation takes an Idempotency-Key."""

    NONE = enum.auto()
    OPTIONAL = enum.auto()
    REQUIRED = enum.auto()


class Access(enum.Enum):
    """Who may call at all."""

    PUBLIC = enum.auto()
    """Anybody, always."""
    OPEN = enum.auto()
    """A principal, or nobody in particular while the server is open."""
    KEYED = enum.auto()
    """A principal, always."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Call:
    """One request that passed every check that needs no look at the data."""

    serving: Serving
    mesh: Mesh
    principal: Principal | None
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    idempotency_key: str | None
    headers: Mapping[bytes, bytes]
    receive: Receive
    root: str
    confirm: Callable[[], Awaitable[None]]
    """Passes while the caller is still who it was; raises Unauthenticated else."""

    def require(self, rule: Callable[[Principal], None]) -> None:
        """Pass a principal that a rule passes, and nobody in particular.

        Raises:
            Forbidden: the rule does not pass it.
        """
        if self.principal is not None:
            rule(self.principal)

    @property
    def known(self) -> Principal:
        """Who calls, where it cannot be nobody.

        Raises:
            Unauthenticated: it is.
        """
        if self.principal is None:
            raise Unauthenticated
        return self.principal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How what one operation gave is used by another: OpenAPI's runtime expressions for its path and its body."""

    parameters: Mapping[str, str]
    body: Mapping[str, Any] | None = None


Handler: TypeAlias = Callable[[Call], Awaitable[Sendable]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the HTTP interface; the OpenAPI document is made from these.

    ``gives`` maps each status of success to the shape of its body, None: none. ``problems`` are the codes that it
    adds to those that every operation can answer with. ``links`` name what a client can do with what it got. An
    endless answer has no HEAD.
    """

    method: str
    path: str
    name: str
    summary: str
    handle: Handler
    tag: str
    about: str = ""
    access: Access = Access.OPEN
    takes: type[Any] | None = None
    parameters: tuple[Parameter, ...] = ()
    key: KeyUse = KeyUse.NONE
    takes_token: bool = False
    is_limited: bool = False
    is_endless: bool = False
    gives: Mapping[int, type[Any] | None] = dataclasses.field(default_factory=dict)
    media_type: str = "application/json"
    problems: tuple[str, ...] = ()
    links: Mapping[str, Link] = dataclasses.field(default_factory=dict)
