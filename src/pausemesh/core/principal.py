"""Who acts: a principal with a role and a scope, and the actor that an event remembers."""

import dataclasses
import enum
from typing import Final

from pausemesh.core import limits
from pausemesh.core.errors import Forbidden, InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.values import check_own_id, check_text

DEFAULT_SCOPE: Final = "default"


class Role(enum.StrEnum):
    """What a principal may do; the order is not a ranking: an agent never decides."""

    AGENT = "agent"
    MESSENGER = "messenger"
    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


class ActorKind(enum.StrEnum):
    """In which capacity somebody decided."""

    TOKEN = "token"  # noqa: S105 - a capacity, no secret
    OPERATOR = "operator"
    AGENT = "agent"
    REQUESTER = "requester"
    SYSTEM = "system"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who decided, as an event keeps it: a capacity and an id, never a credential."""

    kind: ActorKind
    id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who calls: an id that the host vouches for, a role, and the scope it is confined to.

    Raises:
        InvalidRequest: the id is not 1 to 200 characters, or the role or the scope is none.
    """

    id: str
    role: Role
    scope: str = DEFAULT_SCOPE

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", check_text(self.id, "/id", limits.FOREIGN_ID_CHARACTERS, least=1))
        object.__setattr__(self, "scope", check_own_id(self.scope, "/scope"))
        object.__setattr__(self, "role", _role_of(self.role))

    def actor(self) -> Actor:
        """Return how an event remembers this principal."""
        kind = ActorKind.AGENT if self.role is Role.AGENT else ActorKind.OPERATOR
        return Actor(kind=kind, id=self.id)


BY_TOKEN: Final = Actor(kind=ActorKind.TOKEN)
BY_SYSTEM: Final = Actor(kind=ActorKind.SYSTEM)

_DECIDERS: Final = frozenset({Role.EDITOR, Role.ADMIN})
_READERS_OF_ALL: Final = frozenset({Role.VIEWER, Role.EDITOR, Role.ADMIN})
_READERS: Final = _READERS_OF_ALL | {Role.AGENT}
_CREATORS: Final = frozenset({Role.AGENT, Role.EDITOR, Role.ADMIN})


def require_may_answer(principal: Principal) -> None:
    """Pass an editor or an admin.

    Raises:
        Forbidden: anybody else; an agent above all.
    """
    _require(principal, _DECIDERS)


def require_may_create(principal: Principal) -> None:
    """Pass an agent, an editor or an admin; the same may claim.

    Raises:
        Forbidden: anybody else.
    """
    _require(principal, _CREATORS)


def require_may_govern(principal: Principal, creator: Actor) -> None:
    """Pass the creator of a continuation, an editor or an admin: who may cancel it or reissue its token.

    Raises:
        Forbidden: anybody else.
    """
    if principal.role is Role.AGENT and creator == principal.actor():
        return
    _require(principal, _DECIDERS)


def require_may_read_some(principal: Principal) -> None:
    """Pass whoever may read anything: a messenger may not, and an agent only what it asked itself.

    Raises:
        Forbidden: a messenger.
    """
    _require(principal, _READERS)


def require_may_read_all(principal: Principal) -> None:
    """Pass a viewer, an editor or an admin, who may read whatever there is.

    Raises:
        Forbidden: anybody else.
    """
    _require(principal, _READERS_OF_ALL)


def require_may_read(principal: Principal, created_by: str | None) -> None:
    """Pass who may read a question that ``created_by`` asked.

    Raises:
        Forbidden: anybody else.
    """
    if principal.role is not Role.AGENT or created_by != principal.id:
        require_may_read_all(principal)


def require_admin(principal: Principal) -> None:
    """Pass an admin: who may resolve an effect that is in doubt.

    Raises:
        Forbidden: anybody else.
    """
    _require(principal, frozenset({Role.ADMIN}))


def _role_of(value: object) -> Role:
    try:
        return Role(value if isinstance(value, str) else "")
    except ValueError:
        raise InvalidRequest(issues=[Issue("/role", "enum", "is not one of the roles")]) from None


def _require(principal: Principal, roles: frozenset[Role]) -> None:
    if principal.role not in roles:
        raise Forbidden
