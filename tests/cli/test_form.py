"""What is asked for follows from the schema, and what is typed becomes the value that it says."""

from typing import Any

import msgspec
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from pausemesh.cli.form import (
    Choice,
    Field,
    Kind,
    Left,
    NotUnderstood,
    assembled,
    choice_word,
    failing,
    fields_of,
    read,
)
from pausemesh.cli.plain_text import plain_json
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.question import APPROVAL_SCHEMA


def only(schema: Any) -> Field:
    (field,) = fields_of({"type": "object", "properties": {"it": schema}, "required": ["it"]})
    return field


def typed(schema: Any, *lines: str) -> list[Any]:
    return [read(only(schema), line) for line in lines]


def test_an_approval_asks_for_a_yes_and_perhaps_a_note() -> None:
    approved, note = fields_of(APPROVAL_SCHEMA.value)
    assert (approved.name, approved.kind, approved.required) == ("approved", Kind.YES_OR_NO, True)
    assert (note.name, note.kind, note.required) == ("note", Kind.TEXT, False)


def test_a_question_without_a_schema_takes_json_or_else_text() -> None:
    (field,) = fields_of(None)
    assert (field.name, field.kind, field.required) == (None, Kind.ANYTHING, True)
    assert [read(field, line) for line in ("AZ1", "5", '"5"', "null", "{bad", " [1] ")] == [
        "AZ1", 5, "5", None, "{bad", [1]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "boolean"}, Kind.YES_OR_NO),
        ({"type": "integer"}, Kind.INTEGER),
        ({"type": "number"}, Kind.NUMBER),
        ({"type": "string"}, Kind.TEXT),
        ({"enum": ["a", "b"]}, Kind.CHOICE),
        ({"const": 5}, Kind.CHOICE),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, Kind.CHOICE),
        ({"type": "object"}, Kind.JSON),
        ({"type": "object", "properties": {"a": True}}, Kind.JSON),
        ({"type": "array", "items": {"type": "string"}}, Kind.JSON),
        ({"type": ["string", "integer"]}, Kind.JSON),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, Kind.JSON),
        ({"oneOf": []}, Kind.JSON),
        ({"enum": "abc"}, Kind.JSON),
        ({}, Kind.JSON),
        (True, Kind.JSON),
    ],
)
def test_each_schema_has_its_kind_of_field(schema: Any, kind: Kind) -> None:
    assert only(schema).kind is kind


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"type": ["null", "string"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"const": None}, {"type": "string"}]},
    ],
)
def test_what_may_be_null_is_told_and_typed_as_null(schema: Any) -> None:
    field = only(schema)
    assert (field.kind, field.nullable) == (Kind.TEXT, True)
    assert [read(field, line) for line in ("null", '"null"', "none")] == [None, "null", "none"]


def test_several_kinds_or_null_are_typed_as_json() -> None:
    field = only({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]})
    assert (field.kind, field.nullable) == (Kind.JSON, True)


def test_text_that_is_no_null_is_text() -> None:
    assert typed({"type": "string"}, "null", "true", " spaced ", '""', '"a\\n\\u202eb"', '"open', '"') == [
        "null", "true", " spaced ", "", "a\n\u202eb", '"open', '"'
    ]  # fmt: skip


def test_numbers_are_typed_as_json_writes_them() -> None:
    assert typed({"type": "integer"}, "12", " -3 ", "9007199254740991") == [12, -3, 2**53 - 1]
    assert typed({"type": "number"}, "12", "0.5", "-1e-3") == [12, 0.5, -0.001]


def test_yes_and_no_can_be_said_in_three_ways() -> None:
    assert typed({"type": "boolean"}, "y", "YES", "true", "n", "No", "false") == [True] * 3 + [False] * 3


def test_a_choice_is_made_by_its_number_or_its_word() -> None:
    assert typed({"enum": ["AZ1", "AZ2", None, True]}, "1", "AZ2", "3", "null", "true") == [
        "AZ1", "AZ2", None, None, True
    ]  # fmt: skip


def test_where_values_look_like_numbers_they_are_typed_themselves() -> None:
    assert not only({"enum": ["2", "1"]}).is_numbered
    assert typed({"enum": ["2", "1"]}, "1", "2", '"2"') == ["1", "2", "2"]
    assert not only({"enum": [3, 1, 0.5, "x"]}).is_numbered
    assert typed({"enum": [3, 1, 0.5, "x"]}, "3", "1", "0.5", "x") == [3, 1, 0.5, "x"]


def test_a_choice_can_have_a_title() -> None:
    field = only({"oneOf": [{"const": "a", "title": "First"}, {"const": {"b": 1}}]})
    assert field.choices == (Choice(value="a", title="First"), Choice(value={"b": 1}))
    assert read(field, '{"b": 1}') == {"b": 1}


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({"type": "boolean"}, ["maybe", "1", "0"]),
        ({"enum": ["a", "b"]}, ["c", "0", "3", "-1", "²"]),
        ({"enum": [5, 6]}, ["1", "2", "7"]),
        ({"type": "integer"}, ["x", "1.5", "1.0", "true", "1e3", "9007199254740992", "0x1", "1_000"]),
        ({"type": "number"}, ["x", "NaN", "Infinity", "1e400", "true", "[1]"]),
        ({"type": "string"}, ['"bad \\escape"']),
        ({"type": "object"}, ["{", "plain", '{"a": 1, "a": 2}', "[" * 70 + "]" * 70]),
    ],
)
def test_what_is_no_value_is_not_understood(schema: Any, lines: list[str]) -> None:
    for line in lines:
        with pytest.raises(NotUnderstood):
            read(only(schema), line)


def test_nothing_typed_means_the_default_or_to_leave_it_out() -> None:
    with pytest.raises(NotUnderstood):
        typed({"type": "string"}, " ")
    with pytest.raises(NotUnderstood):
        typed({"type": "integer"}, "")
    assert typed({"type": "integer", "default": 5}, "") == [5]
    assert typed({"type": ["string", "null"], "default": None}, "") == [None]
    (optional,) = fields_of({"type": "object", "properties": {"it": {"type": "string"}}})
    assert read(optional, "") is Left.OUT
    assert read(optional, "-") == "-"


def test_an_optional_field_with_a_default_can_be_left_out() -> None:
    (field,) = fields_of({"type": "object", "properties": {"it": {"type": "string", "default": "a"}}})
    assert [read(field, line) for line in ("", "-", '"-"')] == ["a", Left.OUT, "-"]


def test_required_fields_come_first_and_bounds_and_words_are_told() -> None:
    schema: Any = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "title": "A", "description": "First.", "maxLength": 5, "pattern": "x"},
            "b": {"type": "integer", "minimum": 1, "title": "", "description": 7},
        },
        "required": ["b", 5],
    }
    b, a = fields_of(schema)
    assert (b.name, b.bounds, b.title, b.description) == ("b", (("minimum", 1),), None, None)
    assert (a.name, a.bounds, a.title, a.description) == ("a", (("maxLength", 5), ("pattern", "x")), "A", "First.")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": 5},
        {"type": ["object", "null"], "properties": {"a": True}},
        {"oneOf": [{"type": "object", "properties": {"a": True}}, {"type": "object"}]},
        {"enum": ["a"]},
        True,
        {},
    ],
)
def test_what_is_no_object_with_members_is_asked_for_as_a_whole(schema: Any) -> None:
    (field,) = fields_of(schema)
    assert (field.name, field.required) == (None, True)


def test_members_are_asked_for_where_the_schema_says_nothing_of_a_type() -> None:
    assert [field.name for field in fields_of({"properties": {"a": True, "b": True}})] == ["a", "b"]


class Seat(msgspec.Struct):
    """A seat."""

    row: int
    window: bool = True


class Flight(msgspec.Struct):
    """A flight."""

    code: str
    seat: Seat
    meal: str | None = None


def test_references_are_followed_as_type_libraries_write_them() -> None:
    code, seat, meal = fields_of(msgspec.json.schema(Flight))
    assert (code.name, code.kind, code.required) == ("code", Kind.TEXT, True)
    assert (seat.name, seat.kind) == ("seat", Kind.JSON)
    assert (meal.name, meal.kind, meal.nullable, meal.default) == ("meal", Kind.TEXT, True, None)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.com/a"},
        {"$ref": "#/enum/7", "enum": ["a"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"anyOf": [{"type": "null"}]},
        {"anyOf": "x"},
    ],
)
def test_a_schema_that_makes_no_sense_still_asks_for_json(schema: Any) -> None:
    assert [field.name for field in fields_of(schema)] == [None]


def test_a_reference_into_a_list_is_followed() -> None:
    schema: Any = {"prefixItems": [{"type": "boolean"}], "$ref": "#/prefixItems/0"}
    assert fields_of(schema)[0].kind is Kind.YES_OR_NO


def test_an_answer_is_made_of_what_was_not_left_out() -> None:
    fields = fields_of({"properties": {"a": {"type": "string"}, "b": {"type": "null"}, "c": True}})
    assert assembled(fields, {"a": "x", "b": None, "c": Left.OUT}) == {"a": "x", "b": None}
    assert assembled(fields, {}) == {}
    assert assembled(fields_of(None), {None: 5}) == 5
    assert assembled(fields_of(None), {}) is None


def test_only_the_fields_that_fail_are_asked_for_again() -> None:
    fields = fields_of({"properties": {"a": True, "b/c": True, "d~e": True}})

    def names(*paths: str) -> list[str | None]:
        return [field.name for field in failing(fields, paths)]

    assert names("/a") == ["a"]
    assert names("/b~1c/0", "/d~0e") == ["b/c", "d~e"]
    assert names("") == names("/a", "/unknown") == ["a", "b/c", "d~e"]
    assert [field.name for field in failing(fields_of(None), ["/x"])] == [None]


WORDS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
).filter(lambda value: "\\u0000" not in plain_json(value))


@for_all(VALUES)
def test_every_value_can_be_typed_as_json(value: Any) -> None:
    line = plain_json(value, indent=None)
    assert canonical_bytes(read(only({}), line)) == canonical_bytes(value)
    assert canonical_bytes(read(fields_of(None)[0], line)) == canonical_bytes(value)
    if isinstance(value, str):
        assert read(only({"type": "string"}), line) == value


@for_all(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_every_choice_can_be_typed(values: list[Any], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(values))
    field = only({"enum": values})
    word = choice_word(chosen)
    if word.strip() == word != "":
        assert choice_word(read(field, word)) == word  # type: ignore[arg-type]
    assert read(field, plain_json(chosen, indent=None)) in values
