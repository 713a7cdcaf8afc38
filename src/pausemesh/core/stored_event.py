"""The form in which events are stored: one canonical JSON object that names its noun's id and its own version.

An event can so be checked against the place where it was found. Members are written from their
canonical bytes, so that a payload is never serialised twice; RFC 8785 writes text as ``encode_basestring`` does.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from json.encoder import encode_basestring
from typing import Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from pausemesh.core.canonical import decode_canonical, write_own
from pausemesh.core.document import Document
from pausemesh.core.errors import PauseMeshError, StoreCorrupt, UnknownSchemaVersion
from pausemesh.core.values import SCHEMA_VERSION, JsonValue

EventT = TypeVar("EventT")
Members: TypeAlias = Mapping[str, "Document | JsonValue"]

_OWN_MEMBERS: Final = frozenset({"schemaVersion", "id", "version"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stamped(Generic[EventT]):
    """An event with what the store gave it: its version in the stream, and the time (UTC) of its commit."""

    event: EventT
    version: int
    at: datetime
    id: UUID


def complete(stream: Iterable[Stamped[EventT]]) -> Iterator[Stamped[EventT]]:
    """Yield the events of a stream that has all of them.

    Raises:
        StoreCorrupt: it is empty, or a version is missing.
    """
    expected = 0
    for expected, stamped in enumerate(stream, start=1):
        if stamped.version != expected:
            raise StoreCorrupt(f"Version {expected} of a stream is missing.")
        yield stamped
    if expected == 0:
        raise StoreCorrupt("A stream is empty.")


def write_stored_event(noun_id: str, version: int, members: Members) -> bytes:
    """Return the canonical bytes of an event; ``members`` are ASCII names and values that were checked before."""
    whole: dict[str, Document | JsonValue] = {
        **members,
        "schemaVersion": SCHEMA_VERSION,
        "id": noun_id,
        "version": version,
    }
    return _object_text(whole).encode()


def read_stored_event(data: bytes, noun_id: str, version: int) -> dict[str, JsonValue]:
    """Return the members of a stored event.

    Raises:
        UnknownSchemaVersion: it was written by a release that this one does not know.
        StoreCorrupt: it is no JSON object, or names another id or version than the place where it was found.
    """
    try:
        members = decode_canonical(data)
    except (ValueError, PauseMeshError, RecursionError):
        raise StoreCorrupt(f"An event of version {version} is not JSON.") from None
    if not isinstance(members, dict):
        raise StoreCorrupt(f"An event of version {version} is not an object.")
    if members.get("schemaVersion") != SCHEMA_VERSION:
        raise UnknownSchemaVersion(f"An event of version {version} has a schema version that is not known.")
    if members.get("id") != noun_id or members.get("version") != version:
        raise StoreCorrupt(f"An event of version {version} belongs to another place.")
    return {name: value for name, value in members.items() if name not in _OWN_MEMBERS}


def _object_text(members: Members) -> str:
    return "{" + ",".join([f'"{name}":{_text_of(members[name])}' for name in sorted(members)]) + "}"


def _text_of(value: "Document | JsonValue") -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Document):
        return value.data.decode()
    if type(value) is int:
        return str(value)
    if isinstance(value, dict):
        return _object_text(value)
    if isinstance(value, list):
        return "[" + ",".join([_text_of(item) for item in value]) + "]"
    return write_own(value)
