"""What a payload says about itself: its kind, its message, the answer it wants, the action it asks approval for."""

import dataclasses
import enum
import functools
import hashlib
from datetime import datetime
from typing import Final

from pausemesh.core.document import STORED_LIMITS, Document
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonValue, check_text, time_to_text

ACTION_NAME_CHARACTERS: Final = 200
_QUESTIONS_READ: Final = 256
"""How many questions are kept as they were read."""


class QuestionKind(enum.StrEnum):
    """What is asked for; a payload that names none asks for input, or for approval of its action."""

    INPUT = "input"
    APPROVAL = "approval"
    AUTHORIZATION = "authorization"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What an approval approves: a name and exact arguments."""

    name: str
    arguments: Document


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The members of a payload that PauseMesh reads; every other member is the host's own."""

    kind: QuestionKind
    response_schema: Document | None
    action: Action | None


APPROVAL_SCHEMA: Final = Document.of(
    {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
        "required": ["approved"],
        "additionalProperties": False,
    }
)
"""What an approval is answered with where it declares no schema of its own."""


@functools.lru_cache(maxsize=_QUESTIONS_READ)
def read_question(payload: Document) -> Question:
    """Read a payload of any shape.

    Raises:
        InvalidRequest: ``kind``, ``message`` or ``action`` are there and not what they must be.
    """
    value = payload.value
    members = value if isinstance(value, dict) else {}
    action = _action(members)
    kind = _kind(members, action)
    if not isinstance(members.get("message", ""), str):
        raise _invalid("/payload/message", "must be text")
    schema = APPROVAL_SCHEMA if kind is QuestionKind.APPROVAL else None
    if "responseSchema" in members:
        schema = Document.of(members["responseSchema"], STORED_LIMITS)
    return Question(kind=kind, response_schema=schema, action=action)


def shown_digest(continuation_id: str, payload: Document, expires_at: datetime | None) -> str:
    """Return the digest of what a person is shown: SHA-256 over canonical ["shown-v1", id, payload, expiresAt].

    An id of ours and a time have no character that JSON escapes.
    """
    due = b"null" if expires_at is None else b'"%s"' % time_to_text(expires_at).encode()
    parts = (b'["shown-v1","%s"' % continuation_id.encode(), payload.data, due + b"]")
    return hashlib.sha256(b",".join(parts)).hexdigest()


def is_yes(answer: JsonValue) -> bool:
    """Tell whether an answer approves: it is ``true``, or an object whose ``approved`` is."""
    return (answer.get("approved") if isinstance(answer, dict) else answer) is True


def _kind(members: dict[str, JsonValue], action: Action | None) -> QuestionKind:
    implied = QuestionKind.INPUT if action is None else QuestionKind.APPROVAL
    try:
        kind = QuestionKind(members.get("kind", implied))  # type: ignore[arg-type]
    except ValueError:
        raise _invalid("/payload/kind", "must be input, approval or authorization") from None
    if action is not None and kind is not QuestionKind.APPROVAL:
        raise _invalid("/payload/kind", "must be approval where there is an action")
    return kind


def _action(members: dict[str, JsonValue]) -> Action | None:
    if "action" not in members:
        return None
    action = members["action"]
    if not isinstance(action, dict) or not {"name"} <= action.keys() <= {"name", "arguments"}:
        raise _invalid("/payload/action", "must have a name and arguments, and nothing else")
    arguments = action.get("arguments", {})
    if not isinstance(arguments, dict):
        raise _invalid("/payload/action/arguments", "must be an object")
    name = check_text(action["name"], "/payload/action/name", ACTION_NAME_CHARACTERS, least=1)
    return Action(name=name, arguments=Document.of(arguments, STORED_LIMITS))


def _invalid(path: str, message: str) -> InvalidRequest:
    return InvalidRequest(issues=[Issue(path, "shape", message)])
