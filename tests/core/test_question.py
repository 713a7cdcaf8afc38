"""What is read of a payload, and what a shown digest covers."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
import rfc8785

from pausemesh.core.document import Document
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.question import APPROVAL_SCHEMA, Question, QuestionKind, read_question, shown_digest
from pausemesh.core.values import JsonValue

DUE = datetime(2030, 1, 1, tzinfo=UTC)


def read(payload: JsonValue) -> Question:
    read_question.cache_clear()
    return read_question(Document.of(payload))


@pytest.mark.parametrize("payload", [None, 5, "approval", ["kind"], {}, {"message": "?"}, {"kind": "input"}])
def test_what_names_no_other_kind_asks_for_input_of_any_shape(payload: JsonValue) -> None:
    question = read(payload)
    assert (question.kind, question.response_schema, question.action) == (QuestionKind.INPUT, None, None)


def test_an_approval_is_answered_by_approved_and_a_note_unless_it_says_otherwise() -> None:
    assert read({"kind": "approval"}).response_schema == APPROVAL_SCHEMA
    assert APPROVAL_SCHEMA.value == {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
        "required": ["approved"],
        "additionalProperties": False,
    }
    schemas: tuple[JsonValue, ...] = (True, False, None, {"type": "object"})
    for schema in schemas:
        own = read({"kind": "approval", "responseSchema": schema}).response_schema
        assert own == Document.of(schema)


def test_an_authorization_declares_its_own_schema_or_none() -> None:
    assert read({"kind": "authorization"}).kind is QuestionKind.AUTHORIZATION
    assert read({"kind": "authorization"}).response_schema is None
    assert read({"responseSchema": {"type": "integer"}}).response_schema == Document.of({"type": "integer"})


def test_an_action_has_a_name_and_arguments_which_may_be_left_out() -> None:
    full = read({"action": {"name": "book", "arguments": {"b": 1, "a": 2}}}).action
    assert full is not None
    assert (full.name, full.arguments) == ("book", Document.of({"a": 2, "b": 1}))
    bare = read({"action": {"name": "x" * 200}}).action
    assert bare is not None
    assert bare.arguments == Document.of({})
    assert read({"action": {"name": "book"}}).kind is QuestionKind.APPROVAL
    assert read({"action": {"name": "book"}, "kind": "approval"}).kind is QuestionKind.APPROVAL


@pytest.mark.parametrize(
    ("payload", "path", "reason"),
    [
        ({"kind": "aproval"}, "/payload/kind", "shape"),
        ({"kind": None}, "/payload/kind", "shape"),
        ({"kind": ["approval"]}, "/payload/kind", "shape"),
        ({"message": None}, "/payload/message", "shape"),
        ({"message": 5}, "/payload/message", "shape"),
        ({"action": "book"}, "/payload/action", "shape"),
        ({"action": None}, "/payload/action", "shape"),
        ({"action": {}}, "/payload/action", "shape"),
        ({"action": {"name": "book"}, "kind": "input"}, "/payload/kind", "shape"),
        ({"action": {"name": "book"}, "kind": "authorization"}, "/payload/kind", "shape"),
        ({"action": {"name": "book", "arguments": None}}, "/payload/action/arguments", "shape"),
        ({"action": {"name": "book", "arguments": [1]}}, "/payload/action/arguments", "shape"),
        ({"action": {"arguments": {}}}, "/payload/action", "shape"),
        ({"action": {"name": "book", "args": {}}}, "/payload/action", "shape"),
        ({"action": {"name": ""}}, "/payload/action/name", "text"),
        ({"action": {"name": "x" * 201}}, "/payload/action/name", "text"),
        ({"action": {"name": 5}}, "/payload/action/name", "text"),
    ],
)
def test_a_member_of_another_shape_is_refused_with_its_place(payload: JsonValue, path: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        read(payload)
    [issue] = refusal.value.issues
    assert (issue.path, issue.reason) == (path, reason)
    assert issue.message.startswith("must ")


@pytest.mark.parametrize("expires_at", [None, DUE])
def test_the_shown_digest_is_that_of_the_canonical_list(expires_at: datetime | None) -> None:
    payload: JsonValue = {"message": "Which?", "b": [1.0, "\u00e9"], "a": None}
    due = None if expires_at is None else "2030-01-01T00:00:00.000Z"
    expected = hashlib.sha256(rfc8785.dumps(["shown-v1", "q 1", payload, due])).hexdigest()
    assert shown_digest("q 1", Document.of(payload), expires_at) == expected


def test_each_part_of_what_is_shown_changes_its_digest() -> None:
    one, other = Document.of({"a": 1}), Document.of({"a": 2})
    digests = {
        shown_digest("q", one, DUE),
        shown_digest("p", one, DUE),
        shown_digest("q", other, DUE),
        shown_digest("q", one, DUE + timedelta(milliseconds=1)),
        shown_digest("q", one, None),
    }
    assert len(digests) == 5
