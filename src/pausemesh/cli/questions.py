"""What the commands need of the questions, wherever these are: JSON in the shapes of the HTTP surface."""

import dataclasses
from typing import Final, Protocol, TypeAlias

from pausemesh.core import limits
from pausemesh.core.values import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which questions are wanted; None does not filter."""

    status: str | None = None
    correlation_id: str | None = None
    kind: str | None = None


class Questions(Protocol):
    """The questions of one scope, here or on a server, as one principal may see and decide them.

    Every method may raise PauseMeshError or Refused. What it returns may hold any text, also hostile.
    """

    @property
    def place(self) -> str:
        """Where they are, for a person."""
        ...

    def page(self, filters: Filters, *, limit: int, cursor: str | None) -> JsonObject:
        """Return ``{continuations, nextCursor}``, oldest first, at most 200."""
        ...

    def get(self, continuation_id: str) -> JsonObject:
        """Return a continuation."""
        ...

    def history(self, continuation_id: str) -> list[JsonObject]:
        """Return its events ``{id, version, type, at, data}``, oldest first."""
        ...

    def effects(self, continuation_id: str) -> list[JsonObject]:
        """Return the effects of its claims by key."""
        ...

    def answer(
        self, continuation_id: str, *, idempotency_key: str, payload: JsonValue, shown_digest: str
    ) -> JsonObject:
        """Answer, and return ``{continuation, replayed}``; to be repeated under the same key."""
        ...

    def cancel(self, continuation_id: str, *, reason: str | None) -> JsonObject:
        """Take a question back, and return ``{continuation}``; to be repeated with the same reason."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Questions, and the cursor of those that come after them; None: that was all."""

    continuations: list[JsonObject]
    next_cursor: str | None


def find(questions: Questions, filters: Filters, *, most: int | None, cursor: str | None = None) -> Found:
    """Return the questions that the filters admit, over all pages from a cursor on, at most ``most``."""
    found: list[JsonObject] = []
    while True:
        wanted = limits.PAGE_MAX if most is None else min(limits.PAGE_MAX, most - len(found))
        page = questions.page(filters, limit=wanted, cursor=cursor)
        found += objects_in(page.get("continuations"))
        cursor = text_in(page, "nextCursor") or None
        if cursor is None or (most is not None and len(found) >= most):
            return Found(continuations=found, next_cursor=cursor)


def text_in(members: JsonObject, name: str) -> str:
    """Return a member that should be text; the empty text where it is none."""
    value = members.get(name)
    return value if isinstance(value, str) else ""


def object_in(members: JsonObject, name: str) -> JsonObject:
    """Return a member that should be an object; an empty one where it is none."""
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(value: JsonValue) -> list[JsonObject]:
    """Return the objects of what should be a list of objects."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def payload_of(continuation: JsonObject) -> JsonObject:
    """Return the members of a payload; none where it is no object."""
    return object_in(continuation, "payload")


PENDING: Final = "pending"
