"""The five events of a continuation, and how each is stored."""

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never, cast

from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy, actor_to_json, optional_time_to_text
from pausemesh.core.errors import StoreCorrupt, UnknownSchemaVersion
from pausemesh.core.principal import Actor
from pausemesh.core.stored_event import Members, Stamped
from pausemesh.core.stored_members import document, read_actor, text, text_or_none
from pausemesh.core.values import JsonValue, time_from_text, time_to_text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The question was asked. ``creation_key`` and ``request_digest`` make a keyed creation retry-safe."""

    id: str
    correlation_id: str
    payload: Document = dataclasses.field(repr=False)
    metadata: Document = dataclasses.field(repr=False)
    shown_digest: str
    expires_at: datetime | None
    answerable_by: tuple[AnswerableBy, ...]
    by: Actor
    token_hash: bytes | None = dataclasses.field(default=None, repr=False)
    queue: str | None = None
    owner: str | None = None
    creation_key: str | None = None
    request_digest: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TokenReissued:
    """A new token took the place of the old one."""

    token_hash: bytes = dataclasses.field(repr=False)
    by: Actor


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The one answer that counts was accepted; it is also the idempotency record of that call."""

    by: Actor
    idempotency_key: str
    payload: Document = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The question was taken back."""

    by: Actor
    reason: str | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The deadline passed without an answer."""


Event: TypeAlias = Created | TokenReissued | Resumed | Cancelled | Expired

_TYPES: Final[Mapping[type[Event], str]] = {
    Created: "continuation.created",
    TokenReissued: "continuation.token_reissued",
    Resumed: "continuation.resumed",
    Cancelled: "continuation.cancelled",
    Expired: "continuation.expired",
}


_NEVER_SHOWN: Final = frozenset({"tokenHash", "creationKey", "requestDigest"})


def event_type(event: Event) -> str:
    """Return the type under which an event is stored."""
    return _TYPES[type(event)]


def event_members(event: Event) -> Members:
    """Return what is stored of an event; members without a value are left out."""
    members: dict[str, Document | JsonValue]
    match event:
        case Created():
            members = _created_members(event)
        case TokenReissued():
            members = {"tokenHash": event.token_hash.hex(), "by": actor_to_json(event.by)}
        case Resumed():
            members = {
                "by": actor_to_json(event.by),
                "idempotencyKey": event.idempotency_key,
                "payload": event.payload,
            }
        case Cancelled():
            members = {"by": actor_to_json(event.by), "reason": event.reason}
        case Expired():
            members = {}
        case _:
            assert_never(event)
    return {name: value for name, value in members.items() if value is not None}


def shown_event(stamped: Stamped[Event], embed: Callable[[Document], Any]) -> dict[str, Any]:
    """Return the members of an event's JSON as readers may see it; ``embed`` says how values appear among them."""
    return {
        "id": str(stamped.id),
        "version": stamped.version,
        "type": event_type(stamped.event),
        "at": time_to_text(stamped.at),
        "data": {
            name: embed(value) if isinstance(value, Document) else value
            for name, value in event_members(stamped.event).items()
            if name not in _NEVER_SHOWN
        },
    }


def _created_members(event: Created) -> dict[str, Document | JsonValue]:
    return {
        "correlationId": event.correlation_id,
        "payload": event.payload,
        "metadata": event.metadata,
        "shownDigest": event.shown_digest,
        "expiresAt": optional_time_to_text(event.expires_at),
        "answerableBy": [way.value for way in event.answerable_by],
        "by": actor_to_json(event.by),
        "tokenHash": None if event.token_hash is None else event.token_hash.hex(),
        "queue": event.queue,
        "owner": event.owner,
        "creationKey": event.creation_key,
        "requestDigest": event.request_digest,
    }


def read_event(type_name: str, noun_id: str, members: Mapping[str, JsonValue]) -> Event:
    """Return the event that was stored as ``members`` of the continuation ``noun_id``.

    Raises:
        UnknownSchemaVersion: the type is not known to this release.
        StoreCorrupt: a member is missing or is not what it must be.
    """
    reader = _READERS.get(type_name)
    if reader is None:
        raise UnknownSchemaVersion("An event has a type that is not known.")
    try:
        return reader(noun_id, members)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise StoreCorrupt(f"An event of type {type_name} cannot be read.") from None


def _read_created(noun_id: str, members: Mapping[str, JsonValue]) -> Created:
    token_hash = text_or_none(members, "tokenHash")
    expires_at = text_or_none(members, "expiresAt")
    return Created(
        id=noun_id,
        correlation_id=text(members, "correlationId"),
        payload=document(members, "payload"),
        metadata=document(members, "metadata"),
        shown_digest=text(members, "shownDigest"),
        expires_at=None if expires_at is None else time_from_text(expires_at),
        answerable_by=tuple(AnswerableBy(way) for way in cast("list[str]", members["answerableBy"])),
        by=read_actor(members["by"]),
        token_hash=None if token_hash is None else bytes.fromhex(token_hash),
        queue=text_or_none(members, "queue"),
        owner=text_or_none(members, "owner"),
        creation_key=text_or_none(members, "creationKey"),
        request_digest=text_or_none(members, "requestDigest"),
    )


def _read_reissued(_: str, members: Mapping[str, JsonValue]) -> TokenReissued:
    return TokenReissued(token_hash=bytes.fromhex(text(members, "tokenHash")), by=read_actor(members["by"]))


def _read_resumed(_: str, members: Mapping[str, JsonValue]) -> Resumed:
    return Resumed(
        by=read_actor(members["by"]),
        idempotency_key=text(members, "idempotencyKey"),
        payload=document(members, "payload"),
    )


def _read_cancelled(_: str, members: Mapping[str, JsonValue]) -> Cancelled:
    return Cancelled(by=read_actor(members["by"]), reason=text_or_none(members, "reason"))


_READERS: Final[Mapping[str, Callable[[str, Mapping[str, JsonValue]], Event]]] = {
    "continuation.created": _read_created,
    "continuation.token_reissued": _read_reissued,
    "continuation.resumed": _read_resumed,
    "continuation.cancelled": _read_cancelled,
    "continuation.expired": lambda _id, _members: Expired(),
}
