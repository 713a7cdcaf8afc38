"""What a person reads of a question: its kind, its message, its action, who asked; whatever is in the JSON."""

import json

from pausemesh.cli.plain_text import plain, plain_lines
from pausemesh.cli.questions import JsonObject, object_in, payload_of, text_in
from pausemesh.core.document import STORED_LIMITS, Document
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.question import Question, read_question
from pausemesh.core.values import JsonValue

NOBODY = "-"


def question_of(continuation: JsonObject) -> Question:
    """Return the question as the core reads it.

    Raises:
        InvalidRequest, InvalidJson, PayloadTooLarge: the payload is none that this release can read.
    """
    return read_question(Document.of(continuation.get("payload"), STORED_LIMITS))


def kind_of(continuation: JsonObject) -> str:
    """Return the kind; of a payload that this release cannot read what it says itself."""
    try:
        return question_of(continuation).kind.value
    except PauseMeshError:
        return text_in(payload_of(continuation), "kind") or NOBODY


def message_of(continuation: JsonObject) -> str | None:
    """Return what a person is to read; None where the payload has no message."""
    return text_in(payload_of(continuation), "message") or None


def action_of(continuation: JsonObject) -> JsonObject | None:
    """Return what an approval approves, ``{name, arguments}``."""
    action = payload_of(continuation).get("action")
    return action if isinstance(action, dict) else None


def summary_of(continuation: JsonObject, most_characters: int) -> str:
    """Return the message in one line that can be shown, or else the payload's JSON, cut where it is long."""
    payload, message = continuation.get("payload"), message_of(continuation)
    text = message or (payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False))
    line = " ".join(filter(None, (shown.strip() for shown in plain_lines(text[: 2 * most_characters]))))
    return line if len(line) <= most_characters else line[: most_characters - 1] + "…"


def name_of_actor(actor: JsonValue) -> str:
    """Return who acted, in one line that can be shown; without an id it is a capacity, such as the host itself."""
    if not isinstance(actor, dict):
        return NOBODY
    kind, identity = text_in(actor, "kind"), text_in(actor, "id")
    if identity:
        return plain(identity)
    return plain({"system": "the host", "token": "the token's holder"}.get(kind, kind) or NOBODY)


def asker_of(history: list[JsonObject]) -> str:
    """Return who asked, from a question's events."""
    return name_of_actor(object_in(history[0], "data").get("by")) if history else NOBODY
