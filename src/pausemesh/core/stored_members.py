"""Reading members of stored events strictly: a value of another type is a fault of the store, not a default."""

from collections.abc import Mapping

from pausemesh.core.document import STORED_LIMITS, Document
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.principal import Actor, ActorKind
from pausemesh.core.values import JsonValue


def text(members: Mapping[str, JsonValue], name: str) -> str:
    """Return a member that must be text.

    Raises:
        KeyError: it is missing.
        TypeError: it is not text.
    """
    value = members[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def text_or_none(members: Mapping[str, JsonValue], name: str) -> str | None:
    """Return a member that is text or is left out.

    Raises:
        TypeError: it is something else.
    """
    return None if members.get(name) is None else text(members, name)


def whole_number(members: Mapping[str, JsonValue], name: str) -> int:
    """Return a member that must be an integer.

    Raises:
        KeyError: it is missing.
        TypeError: it is not an integer.
    """
    value = members[name]
    if type(value) is not int:
        raise TypeError(name)
    return value


def document(members: Mapping[str, JsonValue], name: str) -> Document:
    """Return a member that may be any JSON.

    Raises:
        KeyError: it is missing.
        ValueError: it is JSON that no release would have kept.
    """
    try:
        return Document.of(members[name], STORED_LIMITS)
    except InvalidRequest:
        # Not chained: the place of a value is told by its keys.
        raise ValueError(name) from None


def read_actor(value: JsonValue) -> Actor:
    """Return who decided.

    Raises:
        KeyError, TypeError, ValueError: it is no actor.
    """
    if not isinstance(value, dict):
        raise TypeError("by")
    return Actor(kind=ActorKind(text(value, "kind")), id=text_or_none(value, "id"))
