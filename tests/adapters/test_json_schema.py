"""Judging answers: valid or not as JSON Schema says, where they fail, and never at any cost."""

import threading
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pausemesh.adapters.json_schema import CompiledJsonSchema, JsonSchemaValidator
from pausemesh.adapters.json_schema_judge import judge, register
from pausemesh.core.errors import SchemaNotAllowed
from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonValue
from pausemesh.ports import CompiledSchema, SchemaValidator


def compiled(schema: Any) -> CompiledJsonSchema:
    return JsonSchemaValidator().compile(schema)


def failures(schema: Any, answer: Any) -> list[tuple[str, str]]:
    """The failing places of an answer and the keywords that fail there."""
    return [(issue.path, issue.reason) for issue in compiled(schema).issues(answer)]


def refused(schema: Any) -> tuple[str, str]:
    with pytest.raises(SchemaNotAllowed) as caught:
        compiled(schema)
    (issue,) = caught.value.issues
    assert caught.value.__context__ is None
    return issue.reason, issue.path


def test_it_is_what_the_port_asks_for() -> None:
    validator: SchemaValidator = JsonSchemaValidator()
    schema: CompiledSchema = validator.compile(True)  # noqa: FBT003 - a schema
    assert schema.issues(None) == ()


FORM = {
    "type": "object",
    "properties": {
        "flight": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,4}$"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "class": {"enum": ["economy", "business"]},
        "bags": {"type": "array", "items": {"$ref": "#/$defs/bag"}, "maxItems": 2, "uniqueItems": True},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
    },
    "required": ["flight", "seats"],
    "additionalProperties": False,
    "$defs": {"bag": {"type": "object", "properties": {"kg": {"type": "number", "exclusiveMinimum": 0}}}},
}


def test_a_good_answer_has_no_issues() -> None:
    schema = compiled(FORM)
    assert schema.issues({"flight": "AZ1", "seats": 2, "bags": [{"kg": 0.5}, {}], "note": None}) == ()
    assert schema.issues({"flight": "AZ1", "seats": 1.0}) == ()


def test_each_failing_place_is_named_with_the_keyword_that_fails_there() -> None:
    answer = {"flight": "az1", "seats": 0, "bags": [{"kg": 1}, {"kg": 0}, 7], "note": 1, "a/b": None}
    assert sorted(failures(FORM, answer)) == [
        ("/a~1b", "additionalProperties"),
        ("/bags", "maxItems"),
        ("/bags/1/kg", "exclusiveMinimum"),
        ("/bags/2", "type"),
        ("/flight", "pattern"),
        ("/note", "anyOf"),
        ("/seats", "minimum"),
    ]


def test_a_missing_member_is_named_by_the_place_where_it_should_be() -> None:
    assert failures(FORM, {}) == [("/flight", "required"), ("/seats", "required")]
    assert failures({"items": {"required": ["a~"]}}, [{"a~": 1}, {}]) == [("/1/a~0", "required")]


def test_an_issue_says_what_to_do_in_words_of_its_own() -> None:
    assert compiled(FORM).issues({"flight": "AZ1", "seats": 10}) == (Issue("/seats", "maximum", "must be less"),)
    assert compiled(FORM).issues({"flight": "AZ1"}) == (Issue("/seats", "required", "is required"),)


KEYWORDS: list[tuple[Any, Any, Any, list[tuple[str, str]]]] = [
    ({"type": "integer"}, 1, "1", [("", "type")]),
    ({"type": ["string", "null"]}, None, 1, [("", "type")]),
    ({"const": {"a": [1]}}, {"a": [1.0]}, {"a": [True]}, [("", "const")]),
    ({"enum": ["a", None, 1]}, None, "b", [("", "enum")]),
    ({"multipleOf": 0.1}, 0.3, 0.35, [("", "multipleOf")]),
    ({"maximum": 1}, 1, 1.5, [("", "maximum")]),
    ({"exclusiveMaximum": 1}, 0.5, 1, [("", "exclusiveMaximum")]),
    ({"minimum": 1}, 1, 0, [("", "minimum")]),
    ({"exclusiveMinimum": 1}, 2, 1, [("", "exclusiveMinimum")]),
    ({"maxLength": 1}, "\U0001f600", "aa", [("", "maxLength")]),
    ({"minLength": 2}, "aa", "\U0001f600", [("", "minLength")]),
    ({"pattern": "b"}, "abc", "ac", [("", "pattern")]),
    ({"maxItems": 1}, [1], [1, 2], [("", "maxItems")]),
    ({"minItems": 1}, [1], [], [("", "minItems")]),
    ({"uniqueItems": True}, [1, True, "1"], [1, 1.0], [("", "uniqueItems")]),
    ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}, [("", "maxProperties")]),
    ({"minProperties": 1}, {"a": 1}, {}, [("", "minProperties")]),
    ({"required": ["a", "b"]}, {"a": 1, "b": 2}, {"b": 1}, [("/a", "required")]),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}, [("", "dependentRequired")]),
    ({"prefixItems": [{"type": "string"}, {"type": "null"}]}, ["a"], [1, 1, 1], [("/0", "type"), ("/1", "type")]),
    ({"prefixItems": [True], "items": {"type": "null"}}, [1, None], [1, 1], [("/1", "type")]),
    ({"prefixItems": [True], "items": False}, [1], [1, 2, 3], [("/1", "items"), ("/2", "items")]),
    ({"items": {"items": {"type": "null"}}}, [[None]], [[], [None, 1]], [("/1/1", "type")]),
    ({"contains": {"type": "null"}}, [1, None], [1], [("", "contains")]),
    ({"contains": {"type": "null"}, "minContains": 0}, [], [None] * 0 + ["a"], []),
    ({"contains": {"type": "null"}, "minContains": 2}, [None, None], [None, 1], [("", "contains")]),
    ({"contains": {"type": "null"}, "maxContains": 1}, [None], [None, None], [("", "contains")]),
    ({"contains": {"$ref": "#/$defs/a"}, "$defs": {"a": {"const": 1}}}, [1], [2], [("", "contains")]),
    ({"properties": {"a": {"type": "null"}}}, {"b": 1}, {"a": 1}, [("/a", "type")]),
    ({"properties": {"a": False}}, {"b": 1}, {"a": 1}, [("/a", "properties")]),
    ({"patternProperties": {"^x/": {"type": "null"}}}, {"x": 1}, {"x/": 1, "y": 1}, [("/x~1", "type")]),
    (
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": {"type": "null"}},
        {"a": 1, "x1": 1, "b": None},
        {"a": 1, "x1": 1, "b": 1},
        [("/b", "type")],
    ),
    ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"a": 1, "bb": 1}, [("/bb", "propertyNames")]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}, [("/b", "required")]),
    ({"dependentSchemas": {"a": False, "c": False}}, {"b": 1}, {"a": 1}, [("", "dependentSchemas")]),
    ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}, "a", "", [("", "minLength")]),
    ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}, 1, 0, [("", "minimum")]),
    ({"if": {"type": "string"}, "else": False}, "a", 1, [("", "if")]),
    ({"allOf": [{"minimum": 1}, {"multipleOf": 2}]}, 2, -1, [("", "minimum"), ("", "multipleOf")]),
    ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"minimum": 1}}}, 1, 0, [("", "anyOf")]),
    ({"oneOf": [{"minimum": 1}, {"multipleOf": 2}]}, 1, 2, [("", "oneOf")]),
    ({"not": {"type": "null"}}, 1, None, [("", "not")]),
    ({"$ref": "#/$defs/a~1b%20", "$defs": {"a/b ": {"type": "null"}}}, None, 1, [("", "type")]),
    ({"unevaluatedItems": False, "prefixItems": [True]}, [1], [1, 2], [("", "unevaluatedItems")]),
    (
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]},
        {"a": 1},
        {"b": 1},
        [("", "unevaluatedProperties")],
    ),
    (
        {"properties": {"a": {"unevaluatedProperties": {"type": "null"}}}},
        {"a": {"b": None}},
        {"a": {"b": 1}},
        [("/a", "unevaluatedProperties")],
    ),
    (
        {"$ref": "#/$defs/m", "$defs": {"m": {"additionalProperties": {"$ref": "#/$defs/m"}, "maxProperties": 1}}},
        {"a": {"b": {}}},
        {"a": {"b": {"c": {}, "d": {}}}},
        [("/a/b", "maxProperties")],
    ),
    (False, None, None, [("", "schema")]),
]


@pytest.mark.parametrize(("schema", "good", "bad", "expected"), [case for case in KEYWORDS if case[3]])
def test_a_keyword_passes_what_it_allows_and_names_what_it_does_not(
    schema: Any, good: Any, bad: Any, expected: list[tuple[str, str]]
) -> None:
    if schema is not False:
        assert failures(schema, good) == []
    assert failures(schema, bad) == expected
    shared = schema.get("$defs", {}) if isinstance(schema, dict) else {}
    assert failures({"properties": {"p": schema}, "$defs": shared}, {"p": bad}) == [
        ("/p" + path, "properties" if reason == "schema" else reason) for path, reason in expected
    ]


def test_formats_and_contents_are_annotations() -> None:
    schema = compiled({"format": "email", "contentEncoding": "base64", "contentMediaType": "application/json"})
    assert schema.issues("neither") == ()


def test_a_place_that_fails_twice_for_the_same_reason_is_named_once() -> None:
    assert failures({"allOf": [{"type": "null"}, {"type": "string"}]}, 1) == [("", "type")]


def test_at_most_twenty_places_are_named_in_the_order_of_the_answer() -> None:
    schema = {"items": {"type": "null"}}
    assert failures(schema, [1] * 20) == [(f"/{n}", "type") for n in range(20)]
    assert failures(schema, [None, *[1] * 21]) == [(f"/{n}", "type") for n in range(1, 21)]
    nested = {"items": {"items": {"type": "null"}}}
    assert failures(nested, [[1] * 3] * 9)[-1] == ("/6/1", "type")


def test_no_value_of_the_answer_or_the_schema_is_in_an_issue() -> None:
    schema = {
        "properties": {
            "a": {"const": "hunter2", "enum": ["hunter2"], "pattern": "hunter2", "type": "null", "maxLength": 1},
            "b": {"not": {"const": "hunter3"}},
        }
    }
    issues = compiled(schema).issues({"a": "hunter3", "b": "hunter3"})
    assert len(issues) == 6
    assert "hunter" not in repr(issues)


def test_a_pointer_ends_after_256_characters() -> None:
    ((path, _),) = failures({"additionalProperties": {"type": "null"}}, {"é" * 300: 1})
    assert path == "/" + "é" * 255


# ---------------------------------------------------------------------------- what is not compiled


def test_what_the_core_refuses_is_refused() -> None:
    assert refused([]) == ("not_a_schema", "")
    assert refused({"$ref": "http://example.com/"}) == ("remote_reference", "/$ref")
    assert refused({"items": {"pattern": "(?=a)"}}) == ("pattern_not_allowed", "/items/pattern")


@pytest.mark.parametrize("pattern", ["a{", "[z-a]", "\\e", "*", "a**{", "\\p{Nothing}", "a{3,2}", "\\p{L}{99}x"])
def test_a_pattern_that_the_engine_refuses_is_not_allowed(pattern: str) -> None:
    assert refused({"properties": {"a/b": {"pattern": pattern}}}) == ("pattern_not_allowed", "/properties/a~1b/pattern")
    assert refused({"patternProperties": {pattern: True}}) == ("pattern_not_allowed", f"/patternProperties/{pattern}")


def test_a_member_called_pattern_is_no_pattern() -> None:
    assert failures({"properties": {"pattern": {"const": "("}}}, {"pattern": ")"}) == [("/pattern", "const")]


def test_what_looks_like_a_reference_in_a_value_is_never_followed() -> None:
    value: Any = {"$ref": "http://localhost:1/", "$id": "file:///etc/passwd", "$schema": "http://localhost:1/"}
    schema = compiled({"enum": [value, 1], "default": value, "examples": [value], "not": {"const": {"a": value}}})
    assert schema.issues(value) == ()
    assert [issue.reason for issue in schema.issues({"a": value})] == ["enum", "not"]


def test_the_library_fetches_nothing_even_where_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("true", encoding="utf-8")
    address = (tmp_path / "schema.json").as_uri()
    assert jsonschema_rs.Draft202012Validator({"$ref": address}).is_valid(1)
    with pytest.raises(jsonschema_rs.ValidationError, match="PermissionError"):
        judge({"$ref": address})
    with pytest.raises(ValueError, match="PermissionError"):
        register("urn:a", {"$ref": address})


def test_a_pattern_that_would_take_a_backtracking_engine_for_ever_is_matched() -> None:
    assert failures({"pattern": "^(a+)+$"}, "a" * 60_000 + "b") == [("", "pattern")]


def test_alternatives_that_all_fail_everywhere_are_not_copied_for_each_place() -> None:
    schema = {"items": {"anyOf": [{"type": "null", "title": f"{n}"} for n in range(400)]}}
    assert failures(schema, [1] * 30_000) == [("", "schema")]
    assert failures(schema, [1] * 30) == [(f"/{n}", "anyOf") for n in range(20)]


def test_where_looking_further_would_take_too_long_the_place_around_is_named() -> None:
    schema = {"items": {"items": {"items": {"type": "null"}}}}
    answer = [[[1] * 150] * 150]
    issues = failures(schema, answer)
    assert len(issues) == 20
    assert {reason for _, reason in issues} <= {"type", "items"}
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    recursive = {"type": "array", "items": {"allOf": [{"allOf": [{"$ref": "#"}]}]}}
    assert failures(recursive, deep) == [("/0" * 25, "$ref")]


def test_a_compiled_schema_does_not_change_with_what_it_was_made_of() -> None:
    source: Any = {"enum": ["a"]}
    schema = compiled(source)
    source["enum"].append("b")
    source["type"] = "null"
    assert [issue.reason for issue in schema.issues("b")] == ["enum"]


def test_a_compiled_schema_may_be_used_by_many_threads_at_once() -> None:
    schema = compiled(FORM)
    found: list[tuple[Issue, ...]] = []
    threads = [
        threading.Thread(
            target=lambda n=n: found.extend(schema.issues({"flight": "AZ1", "seats": n}) for _ in range(50))
        )
        for n in (0, 1, 10)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(len(issues) for issues in found) == [0] * 150 + [1] * 300


# ---------------------------------------------------------------------------- anything at all

names = st.sampled_from(["a", "b", "a/b", "é"])
answers = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, "", "a", "bb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
assertions = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["null", "object", "array", "string", "integer", ["number", "null"]]),
        "enum": st.lists(answers, max_size=2),
        "const": answers,
        "minimum": st.integers(-1, 2),
        "maxLength": st.integers(0, 1),
        "minItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "required": st.lists(names, unique=True, max_size=2),
        "pattern": st.sampled_from(["a", "^b"]),
    },
)
schemas = st.recursive(
    st.booleans() | assertions,
    lambda inner: st.builds(
        lambda left, right: left | right,
        assertions,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(names, inner, max_size=2),
                "patternProperties": st.dictionaries(st.sampled_from(["a", "^b"]), inner, max_size=2),
                "additionalProperties": inner,
                "propertyNames": inner,
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "items": inner,
                "contains": inner,
                "minContains": st.integers(0, 2),
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "if": inner,
                "then": inner,
                "else": inner,
                "dependentSchemas": st.dictionaries(names, inner, max_size=2),
                "unevaluatedItems": inner,
                "unevaluatedProperties": inner,
                "$ref": st.sampled_from(["#/$defs/r"]),
            },
        ),
    ),
    max_leaves=8,
)


def is_allowed(schema: Any) -> bool:
    """Whether a drawn schema is not too costly: nothing else can be wrong with it."""
    try:
        compiled(schema)
    except SchemaNotAllowed as error:
        return {issue.reason for issue in error.issues} != {"too_many_subschemas"}
    return True


def has_place(answer: JsonValue, steps: list[str]) -> bool:
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(answer, dict) and name in answer:
            answer = answer[name]
        elif isinstance(answer, list) and int(name) < len(answer):
            answer = answer[int(name)]
        else:
            return False
    return True


@given(schemas, answers, assertions)
def test_an_answer_that_fails_has_issues_and_each_is_at_a_place_of_it(schema: Any, answer: Any, shared: Any) -> None:
    if isinstance(schema, dict):
        schema = schema | {"$defs": {"r": shared}}
    opposite = {"not": schema, "$defs": {"r": shared}}
    assume(is_allowed(opposite))
    issues = compiled(schema).issues(answer)
    assert len(issues) <= 20
    assert len(set(issues)) == len(issues)
    for issue in issues:
        steps = issue.path.split("/")[1:]
        assert has_place(answer, steps[:-1] if issue.reason == "required" else steps)
        assert issue.message
    assert (compiled(opposite).issues(answer) == ()) == (issues != ())


@given(schemas, answers)
def test_issues_are_the_same_each_time(schema: Any, answer: Any) -> None:
    if isinstance(schema, dict):
        schema = schema | {"$defs": {"r": True}}
    assume(is_allowed(schema))
    judge = compiled(schema)
    assert judge.issues(answer) == judge.issues(answer) == compiled(schema).issues(answer)
