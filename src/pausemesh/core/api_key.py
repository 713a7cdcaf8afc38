"""An API key: who holds its text acts with its role in its scope, until it expires or is revoked.

::

    (none) ──Create──▶ active ──Revoke──▶ revoked

The text is seen once, by who created it. What is kept is its SHA-256; the id follows from the same digest, so that a
key is looked up by its text without an index, and a creation whose reply was lost is found again.
"""

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from pausemesh.core.envelope import actor_to_json, optional_time_to_text
from pausemesh.core.errors import ApiKeyNotFound, StoreCorrupt, UnknownSchemaVersion
from pausemesh.core.principal import Actor, Principal, Role
from pausemesh.core.stored_event import Members, Stamped, complete
from pausemesh.core.stored_members import read_actor, text, text_or_none
from pausemesh.core.tokens import KEY_PREFIX, hash_token, is_well_formed, same_hash
from pausemesh.core.values import JsonValue, time_from_text

_ID_CHARACTERS: Final = 26


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """Somebody made a key."""

    role: Role
    scope: str
    key_hash: bytes = dataclasses.field(repr=False)
    expires_at: datetime | None = None
    label: str | None = None
    by: Actor


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """Somebody took it back."""

    by: Actor


Event: TypeAlias = Created | Revoked


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as everybody may see it who may see keys; ``by`` is who created it. Times are UTC."""

    id: str
    role: Role
    scope: str
    key_hash: bytes = dataclasses.field(repr=False)
    label: str | None
    created_at: datetime
    expires_at: datetime | None
    by: Actor
    version: int
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Tell whether it opens anything at ``now``; at the instant of its expiry it does not."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def principal(self) -> Principal:
        """Return who acts with it."""
        return Principal(id=f"key:{self.id}", role=self.role, scope=self.scope)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Make this key."""

    created: Created


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """Take it back, for good."""

    by: Actor


Command: TypeAlias = Create | Revoke


def is_key_text(value: object) -> bool:
    """Tell whether this can be the text of a key."""
    return is_well_formed(value, KEY_PREFIX)


def key_id_of(key_hash: bytes) -> str:
    """Return the id of the key whose text has this SHA-256: ``k_`` and its first 26 base32 characters."""
    return "k_" + base64.b32encode(key_hash).decode("ascii").lower()[:_ID_CHARACTERS]


def opens(key: ApiKey, key_text: str, now: datetime) -> bool:
    """Tell whether a well-formed text is this key's, compared in constant time, and the key is valid."""
    return same_hash(key.key_hash, hash_token(key_text)) and key.is_valid(now)


def decide(state: ApiKey | None, command: Command) -> tuple[Event, ...]:
    """Return the events that a command causes; none where it was done before.

    Raises:
        ApiKeyNotFound: what was never created cannot be revoked.
    """
    match command:
        case Create():
            return (command.created,) if state is None else ()
        case Revoke():
            if state is None:
                raise ApiKeyNotFound
            return (Revoked(by=command.by),) if state.revoked_at is None else ()
        case _:
            assert_never(command)


def evolve(state: ApiKey | None, stamped: Stamped[Event]) -> ApiKey:
    """Apply an event that was stored."""
    event = stamped.event
    match event:
        case Created():
            return _created(event, stamped)
        case Revoked():
            if state is None:
                raise StoreCorrupt("A key's stream does not begin with a creation.")
            return dataclasses.replace(state, revoked_at=stamped.at, version=stamped.version)
        case _:
            assert_never(event)


def replay(stream: Iterable[Stamped[Event]]) -> ApiKey:
    """Return the state that a whole stream gives.

    Raises:
        StoreCorrupt: it is empty, does not begin with a creation, or has a gap.
    """
    state: ApiKey | None = None
    for stamped in complete(stream):
        state = evolve(state, stamped)
    assert state is not None, "a whole stream has an event"
    return state


def event_type(event: Event) -> str:
    """Return the type under which an event is stored."""
    return "key.created" if isinstance(event, Created) else "key.revoked"


def event_members(event: Event) -> Members:
    """Return what is stored of an event; members without a value are left out."""
    if isinstance(event, Revoked):
        return {"by": actor_to_json(event.by)}
    members: dict[str, JsonValue] = {
        "role": event.role.value,
        "scope": event.scope,
        "keyHash": event.key_hash.hex(),
        "expiresAt": optional_time_to_text(event.expires_at),
        "label": event.label,
        "by": actor_to_json(event.by),
    }
    return {name: value for name, value in members.items() if value is not None}


def read_event(type_name: str, noun_id: str, members: Mapping[str, JsonValue]) -> Event:
    """Return the event that was stored as ``members`` of the key ``noun_id``.

    Raises:
        UnknownSchemaVersion: the type is not known to this release.
        StoreCorrupt: a member is missing or is not what it must be, or the id does not follow from the digest.
    """
    try:
        match type_name:
            case "key.created":
                return _read_created(noun_id, members)
            case "key.revoked":
                return Revoked(by=read_actor(members["by"]))
            case _:
                raise UnknownSchemaVersion("An event has a type that is not known.")
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt(f"An event of type {type_name} cannot be read.") from None


def _created(event: Created, stamped: Stamped[Event]) -> ApiKey:
    return ApiKey(
        id=key_id_of(event.key_hash),
        role=event.role,
        scope=event.scope,
        key_hash=event.key_hash,
        label=event.label,
        created_at=stamped.at,
        expires_at=event.expires_at,
        by=event.by,
        version=stamped.version,
    )


def _read_created(noun_id: str, members: Mapping[str, JsonValue]) -> Created:
    key_hash = bytes.fromhex(text(members, "keyHash"))
    if key_id_of(key_hash) != noun_id:
        raise ValueError(noun_id)
    expires_at = text_or_none(members, "expiresAt")
    return Created(
        role=Role(text(members, "role")),
        scope=text(members, "scope"),
        key_hash=key_hash,
        expires_at=None if expires_at is None else time_from_text(expires_at),
        label=text_or_none(members, "label"),
        by=read_actor(members["by"]),
    )
