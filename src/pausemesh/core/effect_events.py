"""The five events of an effect, and how each is stored."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

from pausemesh.core.document import Document
from pausemesh.core.envelope import actor_to_json
from pausemesh.core.errors import StoreCorrupt, UnknownSchemaVersion
from pausemesh.core.principal import Actor
from pausemesh.core.stored_event import Members
from pausemesh.core.stored_members import document, read_actor, text, text_or_none, whole_number
from pausemesh.core.values import JsonValue


class Resolution(enum.StrEnum):
    """What somebody found who looked."""

    DONE = "done"
    NOT_DONE = "not_done"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """It is about to happen; recorded before anything does.

    ``attempt`` is the caller's name for this very start, so that a repeat of it is known from another one.
    """

    key: str
    kind: str
    arguments: Document = dataclasses.field(repr=False)
    fence: int
    worker: str
    attempt: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """It happened."""

    fence: int
    result: Document = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It surely did not happen."""

    fence: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Doubted:
    """It was interrupted, and nobody knows."""

    fence: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Somebody looked, and says with evidence whether it happened."""

    resolution: Resolution
    evidence: str = dataclasses.field(repr=False)
    by: Actor
    result: Document | None = dataclasses.field(default=None, repr=False)


Event: TypeAlias = Started | Completed | Failed | Doubted | Resolved

_TYPES: Final[Mapping[type[Event], str]] = {
    Started: "effect.started",
    Completed: "effect.completed",
    Failed: "effect.failed",
    Doubted: "effect.doubted",
    Resolved: "effect.resolved",
}


def event_type(event: Event) -> str:
    """Return the type under which an event is stored."""
    return _TYPES[type(event)]


def event_members(event: Event) -> Members:
    """Return what is stored of an event; members without a value are left out."""
    members: dict[str, Document | JsonValue]
    match event:
        case Started():
            members = {
                "key": event.key,
                "kind": event.kind,
                "arguments": event.arguments,
                "fence": event.fence,
                "worker": event.worker,
                "attempt": event.attempt,
            }
        case Completed():
            members = {"fence": event.fence, "result": event.result}
        case Failed() | Doubted():
            members = {"fence": event.fence}
        case Resolved():
            members = {
                "resolution": event.resolution.value,
                "evidence": event.evidence,
                "by": actor_to_json(event.by),
                "result": event.result,
            }
        case _:
            assert_never(event)
    return {name: value for name, value in members.items() if value is not None}


def read_event(type_name: str, _noun_id: str, members: Mapping[str, JsonValue]) -> Event:
    """Return the event that was stored as ``members``.

    Raises:
        UnknownSchemaVersion: the type is not known to this release.
        StoreCorrupt: a member is missing or is not what it must be.
    """
    try:
        return _read(type_name, members)
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt(f"An event of type {type_name} cannot be read.") from None


def _read(type_name: str, members: Mapping[str, JsonValue]) -> Event:
    match type_name:
        case "effect.started":
            return Started(
                key=text(members, "key"),
                kind=text(members, "kind"),
                arguments=document(members, "arguments"),
                fence=whole_number(members, "fence"),
                worker=text(members, "worker"),
                attempt=text_or_none(members, "attempt"),
            )
        case "effect.completed":
            return Completed(fence=whole_number(members, "fence"), result=document(members, "result"))
        case "effect.failed":
            return Failed(fence=whole_number(members, "fence"))
        case "effect.doubted":
            return Doubted(fence=whole_number(members, "fence"))
        case "effect.resolved":
            return Resolved(
                resolution=Resolution(text(members, "resolution")),
                evidence=text(members, "evidence"),
                by=read_actor(members["by"]),
                result=document(members, "result") if "result" in members else None,
            )
        case _:
            raise UnknownSchemaVersion("An event has a type that is not known.")
