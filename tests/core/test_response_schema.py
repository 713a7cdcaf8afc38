"""Response schemas from strangers: what is refused, where and why, and that looking costs little."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.errors import SchemaNotAllowed
from pausemesh.core.issue import Issue
from pausemesh.core.response_schema import allow_response_schema, check_response_schema, target
from pausemesh.core.response_schema_pattern import expanded_length

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def refusals(schema: Any) -> tuple[Issue, ...]:
    with pytest.raises(SchemaNotAllowed) as caught:
        check_response_schema(schema)
    assert isinstance(caught.value.issues, tuple)
    return caught.value.issues


def refused(schema: Any) -> tuple[str, str]:
    """Check what must be refused for one thing, and return the reason and the pointer."""
    (issue,) = refusals(schema)
    return issue.reason, issue.path


def cost(schema: Any) -> int:
    return allow_response_schema(schema).checks_per_value


def calls_of(function: Callable[[], object]) -> int:
    """How many calls of Python and of C functions it takes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def inside(depth: int, keyword: str, *, innermost: Any) -> Any:
    """A schema of so many subschemas inside of each other."""
    for _ in range(depth - 1):
        innermost = {keyword: innermost}
    return innermost


def doubled(times: int, last: Any) -> Any:
    """A schema that applies ``last`` to the same place two to the power of ``times`` times."""
    steps = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(times)}
    return {"$defs": steps | {f"a{times}": last}, "$ref": "#/$defs/a0"}


FORM = {
    "$schema": DIALECT,
    "title": "Which flight?",
    "type": "object",
    "properties": {
        "flight": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,4}$", "minLength": 3},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "class": {"enum": ["economy", "business", None]},
        "on": {"type": "string", "format": "date", "examples": ["2026-12-01"]},
        "bags": {"type": "array", "items": {"$ref": "#/$defs/bag"}, "maxItems": 4, "uniqueItems": True},
    },
    "required": ["flight", "seats"],
    "additionalProperties": False,
    "$defs": {"bag": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}},
}

EVERY_KEYWORD = {
    "$schema": DIALECT,
    "$comment": "all there are",
    "$defs": {"a": True, "b": {}},
    "$ref": "#/$defs/a",
    "type": ["null", "boolean", "object", "array", "number", "string", "integer"],
    "const": {"$ref": "http://example.com", "unknown": [1]},
    "enum": [],
    "multipleOf": 5e-324,
    "maximum": 1,
    "exclusiveMaximum": 1.5,
    "minimum": -1,
    "exclusiveMinimum": 0,
    "maxLength": 0,
    "minLength": 2.0,
    "pattern": "^a",
    "maxItems": 1,
    "minItems": 1,
    "uniqueItems": False,
    "maxContains": 1,
    "minContains": 0,
    "maxProperties": 1,
    "minProperties": 1,
    "required": [],
    "dependentRequired": {"a": ["b", "c"], "d": []},
    "prefixItems": [True],
    "items": False,
    "contains": {},
    "additionalProperties": {},
    "properties": {"$id": True, "": {}},
    "patternProperties": {"^x-": {}},
    "dependentSchemas": {"a": {}},
    "propertyNames": {},
    "if": {},
    "then": {},
    "else": {},
    "allOf": [{}],
    "anyOf": [{}],
    "oneOf": [{}],
    "not": {},
    "unevaluatedItems": {},
    "unevaluatedProperties": {},
    "title": "",
    "description": "",
    "default": None,
    "deprecated": True,
    "readOnly": False,
    "writeOnly": False,
    "examples": [{"$id": 1}],
    "format": "anything",
    "contentEncoding": "base64",
    "contentMediaType": "text/plain",
    "contentSchema": {},
}


@pytest.mark.parametrize("schema", [True, False, {}, FORM, EVERY_KEYWORD])
def test_an_ordinary_schema_passes(schema: Any) -> None:
    check_response_schema(schema)
    assert allow_response_schema(schema).schema == schema


def test_what_passed_is_a_copy() -> None:
    schema: Any = {"enum": [1]}
    allowed = allow_response_schema(schema)
    schema["enum"].append(2)
    assert allowed.schema == {"enum": [1]}


@pytest.mark.parametrize("schema", [None, 1, "object", [], [{}], ()])
def test_what_is_no_boolean_or_object_is_no_schema(schema: Any) -> None:
    assert refused(schema) == ("not_a_schema", "")


@pytest.mark.parametrize(
    ("schema", "path"),
    [({"const": (1,)}, "/const"), ({"enum": [2**53]}, "/enum/0"), ({"title": "\0"}, "/title"), ({1: {}}, "")],
)
def test_what_is_no_json_that_can_be_kept_is_no_schema(schema: Any, path: str) -> None:
    assert refused(schema) == ("not_a_schema", path)


def test_a_schema_may_have_32_kib_in_canonical_form_and_not_one_byte_more() -> None:
    schema: Any = {"title": ""}
    schema["title"] = "a" * (32_768 - len(canonical_bytes(schema)))
    check_response_schema(schema)
    schema["title"] += "a"
    assert refused(schema) == ("too_large", "")


@pytest.mark.parametrize("keyword", ["not", "items", "if", "contentSchema", "propertyNames"])
def test_16_subschemas_may_be_inside_of_each_other_and_17_may_not(keyword: str) -> None:
    check_response_schema(inside(16, keyword, innermost=True))
    check_response_schema(inside(16, keyword, innermost={}))
    assert refused(inside(17, keyword, innermost=True)) == ("too_deep", f"/{keyword}" * 16)


def test_a_list_or_object_of_subschemas_is_one_step_as_well() -> None:
    schema: Any = {"enum": [[[[[[]]]]]]}
    for _ in range(5):
        schema = {"properties": {"a": {"allOf": [{"$defs": {"b": schema}}]}}}
    check_response_schema(schema)
    assert refused({"not": schema}) == ("too_deep", "/not" + "/properties/a/allOf/0/$defs/b" * 5)


def test_json_that_is_too_deep_is_a_schema_that_is_too_deep() -> None:
    value: list[Any] = []
    for _ in range(64):
        value = [value]
    assert refused({"const": value})[0] == "too_deep"


@pytest.mark.parametrize(
    "keyword",
    [
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$recursiveAnchor",
        "$vocabulary",
        "definitions",
        "dependencies",
        "additionalItems",
        "discriminator",
        "nullable",
        "id",
        "Type",
        "x-note",
        "__proto__",
        "",
    ],
)
def test_any_other_keyword_is_unknown(keyword: str) -> None:
    assert refused({"properties": {"a": {keyword: {}}}}) == ("unknown_keyword", f"/properties/a/{keyword}")


def test_names_of_members_are_no_keywords() -> None:
    check_response_schema({"properties": {"$id": {}, "x-note": True}, "$defs": {"nullable": {}}})


SOMETHING_ELSE: list[Any] = [None, True, 1, 1.5, "a", [], {}]


def all_but(*right: type) -> list[Any]:
    return [value for value in SOMETHING_ELSE if type(value) not in right]


NO_TYPES: list[Any] = [None, {}, 1, [], "text", "String", ["string", "string"], ["text"], [1], ["null", 1]]

WRONG: list[tuple[str, Any]] = [
    *(("$schema", value) for value in [None, "", "http://json-schema.org/draft-07/schema#", DIALECT + "#"]),
    *(("type", value) for value in NO_TYPES),
    *(("enum", value) for value in all_but(list)),
    *(("examples", value) for value in all_but(list)),
    *(("multipleOf", value) for value in [*all_but(int, float), 0, -1, -0.5]),
    *(
        (word, value)
        for word in ["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"]
        for value in all_but(int, float)
    ),
    *(
        (word, value)
        for word in ["maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains"]
        for value in [*all_but(int), -1, 0.5, -2.0]
    ),
    *((word, value) for word in ["maxProperties", "minProperties"] for value in [*all_but(int), -1]),
    *((word, value) for word in ["uniqueItems", "deprecated", "readOnly", "writeOnly"] for value in all_but(bool)),
    *(
        (word, value)
        for word in [
            "$comment",
            "title",
            "description",
            "format",
            "pattern",
            "contentEncoding",
            "contentMediaType",
            "$ref",
        ]
        for value in all_but(str)
    ),
    *(("required", value) for value in [*all_but(list), ["a", "a"], [1], ["a", None]]),
    *(("dependentRequired", value) for value in [*all_but(dict), {"a": "b"}, {"a": [1]}, {"a": [], "b": ["c", "c"]}]),
    *((word, value) for word in ["allOf", "anyOf", "oneOf", "prefixItems"] for value in SOMETHING_ELSE),
    *(
        (word, value)
        for word in ["properties", "patternProperties", "dependentSchemas", "$defs"]
        for value in all_but(dict)
    ),
    *(
        (word, value)
        for word in ["not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"]
        for value in all_but(bool, dict)
    ),
    *(
        (word, value)
        for word in ["unevaluatedItems", "unevaluatedProperties", "contentSchema"]
        for value in all_but(bool, dict)
    ),
]


@pytest.mark.parametrize(("keyword", "value"), WRONG)
def test_a_keyword_with_another_kind_of_value_is_of_the_wrong_type(keyword: str, value: Any) -> None:
    assert refused({"items": {keyword: value}}) == ("wrong_type", f"/items/{keyword}")


@pytest.mark.parametrize("value", [None, 1, "a", [], [{}]])
def test_what_stands_for_a_subschema_must_be_one(value: Any) -> None:
    assert refused({"properties": {"a/b": value}}) == ("wrong_type", "/properties/a~1b")
    assert refused({"allOf": [True, value]}) == ("wrong_type", "/allOf/1")


def test_all_places_are_named_up_to_twenty() -> None:
    schema = {"properties": {f"p{n:02}": {"minimum": "1", "nullable": True} for n in range(9)}}
    assert {(issue.reason, issue.path) for issue in refusals(schema)} == {
        (reason, f"/properties/p{n:02}/{keyword}")
        for n in range(9)
        for reason, keyword in [("wrong_type", "minimum"), ("unknown_keyword", "nullable")]
    }
    assert len(refusals({"properties": {f"p{n:02}": {"minimum": "1"} for n in range(50)}})) == 20


def test_a_pointer_ends_after_256_characters() -> None:
    _, path = refused({"properties": {"a" * 200: {"properties": {"b" * 200: 1}}}})
    assert path == f"/properties/{'a' * 200}/properties/{'b' * 32}"
    assert len(path) == 256


@pytest.mark.parametrize("keyword", ["pattern", "$ref", "type", "enum", "title"])
def test_a_refusal_names_no_value_of_the_schema(keyword: str) -> None:
    with pytest.raises(SchemaNotAllowed) as caught:
        check_response_schema({keyword: "(?=hunter2)\0" if keyword == "title" else "(?=hunter2)"})
    assert "hunter2" not in f"{caught.value!s} {caught.value!r} {caught.value.issues!r}"
    assert caught.value.__context__ is None


# ---------------------------------------------------------------------------- references


@pytest.mark.parametrize(
    "reference",
    [
        "#",
        "#/$defs/a",
        "#/%24defs/a",
        "#/$defs/%61",
        "#/$defs/b~1c%20d",
        "#/$defs/e~0f",
        "#/items/allOf/1",
        "#/$defs/%C3%A9",
        "#/$defs/",
    ],
)
def test_a_reference_to_a_subschema_of_the_document_passes(reference: str) -> None:
    names = ["a", "b/c d", "e~f", "é", ""]
    schema: Any = {"$defs": dict.fromkeys(names, True), "items": {"allOf": [True, {}]}}
    check_response_schema(schema | {"properties": {"p": {"$ref": reference}}})


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "a",
        "/$defs/a",
        "http://example.com/schema",
        "http://example.com/schema#/$defs/a",
        "file:///etc/passwd",
        "other.json#/$defs/a",
        "?#/$defs/a",
        "##/$defs/a",
        "#a",
        "#$defs/a",
        "#/$defs/a b",
        "#/$defs/é",
        "#/$defs/%",
        "#/$defs/%2",
        "#/$defs/%zz",
        "#/$defs/%FF",
        "#/$defs/a\n",
        DIALECT,
    ],
)
def test_a_reference_to_anything_else_is_remote(reference: str) -> None:
    assert refused({"$defs": {"a": True}, "items": {"$ref": reference}}) == ("remote_reference", "/items/$ref")


@pytest.mark.parametrize(
    "reference",
    [
        "#/",
        "#/$defs",
        "#/$defs/b",
        "#/$defs/a/",
        "#/$defs/a/type",
        "#/properties",
        "#/const",
        "#/enum/0",
        "#/allOf",
        "#/allOf/1",
        "#/allOf/00",
        "#/allOf/-1",
        "#/$defs/c~2d",
        "#/%2524defs/a",
        "#/dependentRequired/x",
    ],
)
def test_a_reference_to_no_subschema_dangles(reference: str) -> None:
    schema = {
        "$defs": {"a": {"type": "string"}},
        "properties": {"p": {"$ref": reference}},
        "const": {},
        "enum": [{}],
        "allOf": [{}],
        "dependentRequired": {"x": []},
    }
    assert refused(schema) == ("dangling_reference", "/properties/p/$ref")


def test_the_pointer_of_a_reference_is_unescaped_as_far_as_it_is_a_uri() -> None:
    assert target("#") == ""
    assert target("#/a%20b/~0~1") == "/a b/~0~1"
    assert target("#a") is None
    assert target("#/%ff") is None


# ---------------------------------------------------------------------------- recursion


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"value": True, "children": {"type": "array", "items": {"$ref": "#"}}}},
        {"additionalProperties": {"$ref": "#"}},
        {"patternProperties": {"^a": {"$ref": "#"}}},
        {"propertyNames": {"$ref": "#"}},
        {"prefixItems": [{"$ref": "#"}, {"$ref": "#"}]},
        {"contains": {"$ref": "#"}},
        {"unevaluatedProperties": {"$ref": "#"}},
        {"unevaluatedItems": {"$ref": "#"}},
        {"contentSchema": {"$ref": "#"}},
        {"$defs": {"a": {"$ref": "#"}}},
        {"anyOf": [{"type": "string"}, {"items": {"$ref": "#"}}, {"additionalProperties": {"$ref": "#"}}]},
    ],
)
def test_recursion_that_goes_further_into_the_answer_passes(schema: Any) -> None:
    check_response_schema(schema)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"$ref": "#"}, ""),
        ({"allOf": [{"$ref": "#"}]}, ""),
        ({"anyOf": [True, {"$ref": "#"}]}, ""),
        ({"oneOf": [{"$ref": "#"}]}, ""),
        ({"not": {"$ref": "#"}}, ""),
        ({"if": {"$ref": "#"}}, ""),
        ({"if": True, "then": {"$ref": "#"}}, ""),
        ({"if": True, "else": {"$ref": "#"}}, ""),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, ""),
        ({"items": {"$ref": "#/items"}}, "/items"),
        ({"items": {"not": {"allOf": [{"$ref": "#/items"}]}}}, "/items"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/a"),
        ({"$ref": "#/$defs/a/not", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "/$defs/a/not"),
    ],
)
def test_recursion_that_stays_at_its_place_is_endless(schema: Any, path: str) -> None:
    assert refused(schema) == ("endless_recursion", path)


def test_a_long_chain_of_references_is_no_recursion_and_needs_no_stack() -> None:
    chain: Any = {f"{n:x}": {"$ref": f"#/$defs/{n + 1:x}"} for n in range(900)}
    check_response_schema({"$defs": chain | {"384": True}, "$ref": "#/$defs/0"})
    assert refused({"$defs": chain | {"384": {"$ref": "#/$defs/0"}}})[0] == "endless_recursion"


def test_each_cycle_is_named() -> None:
    schema = {"$defs": {name: {"$ref": f"#/$defs/{name}"} for name in "abc"}}
    assert {issue.path for issue in refusals(schema)} == {"/$defs/a", "/$defs/b", "/$defs/c"}


# ---------------------------------------------------------------------------- size and cost


def grid(rows: int, columns: int, more: int) -> Any:
    """An object of ``rows`` and ``more`` members; each row is a reference to one of ``columns`` members."""
    row = {"properties": {f"{n:x}": True for n in range(columns)}}
    members = {f"r{n:x}": {"$ref": "#/$defs/row"} for n in range(rows)}
    return {"$defs": {"row": row}, "properties": members | {f"m{n:x}": True for n in range(more)}}


def test_10_000_subschemas_may_be_applied_and_not_one_more() -> None:
    check_response_schema(grid(99, 98, 99))  # 1 + 99 * (1 + 1 + 98) + 99
    assert refused(grid(99, 98, 100)) == ("too_many_subschemas", "")


def test_a_definition_that_nothing_refers_to_counts_for_nothing() -> None:
    check_response_schema({"$defs": {"big": grid(0, 0, 0) | {"properties": {f"{n:x}": True for n in range(2_500)}}}})


def test_every_way_to_apply_a_subschema_counts_for_the_size() -> None:
    for keyword in ["not", "items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems"]:
        schema = grid(99, 98, 98)
        schema["$defs"]["row"]["properties"]["0"] = True
        check_response_schema(schema)
        check_response_schema(schema | {keyword: True})
        assert refused(schema | {keyword: {"not": True}}) == ("too_many_subschemas", "")


def test_a_recursive_reference_counts_as_one() -> None:
    schema = grid(99, 98, 98)
    schema["properties"]["more"] = {"$ref": "#"}
    assert refused(schema) == ("too_many_subschemas", "")
    del schema["properties"]["m0"]
    check_response_schema(schema)


@pytest.mark.parametrize("times", [26, 400])
def test_doubling_is_refused_for_little_work_however_often(times: int) -> None:
    schema = doubled(times, {"type": "integer"})
    assert calls_of(lambda: refused(schema)) < 5_000 * len(schema["$defs"])


def test_recursion_that_multiplies_is_refused() -> None:
    twice = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    assert refused(twice) == ("too_many_subschemas", "")
    assert (
        refused({"additionalProperties": {"$ref": "#"}, "patternProperties": {"a": {"$ref": "#"}}})[0]
        == "too_many_subschemas"
    )
    assert refused({"items": {"$ref": "#"}, "contains": {"$ref": "#"}})[0] == "too_many_subschemas"
    assert refused({"items": {"$ref": "#"}, "unevaluatedItems": {"$ref": "#"}})[0] == "too_many_subschemas"
    assert refused({"additionalProperties": {"$ref": "#"}, "propertyNames": {"$ref": "#"}})[0] == "too_many_subschemas"


def test_recursions_after_each_other_that_add_up_are_refused() -> None:
    steps = {f"a{n}": {"items": {"$ref": f"#/$defs/a{n}"}, "contains": {"$ref": f"#/$defs/a{n + 1}"}} for n in range(8)}
    assert refused({"$defs": steps | {"a8": True}, "$ref": "#/$defs/a0"})[0] == "too_many_subschemas"


def test_members_and_elements_side_by_side_do_not_multiply() -> None:
    schema = {
        "anyOf": [
            {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}},
            {"prefixItems": [{"$ref": "#"}], "items": {"$ref": "#"}},
        ]
    }
    assert cost(schema) == 10  # of the root, and of each place below it


@pytest.mark.parametrize(
    ("schema", "checks"),
    [
        (True, 1),
        ({}, 1),
        ({"type": "string"}, 2),
        ({"type": "string", "minLength": 1}, 3),
        ({"required": ["a", "b"]}, 2),
        ({"properties": {"a": True, "b": True}}, 2),
        ({"dependentRequired": {"a": ["b", "c"], "d": []}}, 4),
        ({"dependentSchemas": {"a": True, "d": True}}, 6),
        ({"enum": ["a", "b", "c"]}, 2),
        ({"enum": ["a", "b", None]}, 5),
        ({"enum": [1, [2], {}]}, 35),
        ({"const": "a"}, 2),
        ({"const": 1}, 3),
        ({"const": [1, 2]}, 18),
        ({"multipleOf": 3}, 2),
        ({"multipleOf": 3.0}, 2),
        ({"multipleOf": 0.5}, 502),
        ({"uniqueItems": True}, 18),
        ({"uniqueItems": False}, 2),
        ({"pattern": "a{3}b"}, 6),
        ({"patternProperties": {"ab": True, "c{4}": True}}, 8),
        ({"allOf": [True, {}]}, 4),
        ({"allOf": [{"type": "string"}, {"minLength": 1, "maxLength": 2}]}, 7),
        ({"not": {"not": True}}, 5),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, 5),
        ({"unevaluatedItems": True, "allOf": [{}, {}]}, 9),
        ({"unevaluatedProperties": True, "not": {"unevaluatedItems": True, "not": True}}, 21),
        ({"items": {"enum": [1, 2, 3]}}, 5),
        ({"items": {"enum": [1]}, "prefixItems": [{"enum": [1, 2, 3, 4]}, True]}, 6),
        ({"items": {"enum": [1]}, "contains": {"enum": [1, 2]}}, 7),
        ({"items": {"enum": [1]}, "contains": {"enum": [1, 2]}, "unevaluatedItems": {"enum": [1, 2, 3]}}, 20),
        ({"properties": {"a": {"enum": [1, 2, 3]}, "b": {"enum": [1]}}, "additionalProperties": {"enum": [1]}}, 5),
        ({"additionalProperties": {"enum": [1, 2]}, "propertyNames": {"enum": [1, 2, 3]}}, 9),
        ({"additionalProperties": {"enum": [1, 2]}, "unevaluatedProperties": {"enum": [1, 2, 3]}}, 9),
        ({"patternProperties": {"a": {"enum": [1]}, "b": {"enum": [1, 2, 3]}}}, 8),
        ({"allOf": [{"items": {"enum": [1, 2]}}, {"items": {"enum": [1, 2]}}]}, 8),
        ({"allOf": [{"items": {"enum": [1, 2, 3]}}, {"additionalProperties": {"enum": [1, 2, 3, 4]}}]}, 6),
        ({"unevaluatedItems": True, "not": {"items": {"enum": [1, 2]}}}, 13),
        ({"unevaluatedProperties": True, "not": {"additionalProperties": {"enum": [1, 2]}}}, 13),
        ({"items": {"items": {"items": {"enum": [1, 2, 3]}}}}, 5),
    ],
)
def test_the_checks_on_one_value_are_counted_at_the_place_where_they_are_most(schema: Any, checks: int) -> None:
    assert cost(schema) == checks


def test_2_000_checks_may_be_made_on_one_value_and_not_one_more() -> None:
    schema: Any = {"enum": [*range(1_998)]}
    assert cost(schema) == 2_000
    assert cost({"items": schema}) == 2_000
    assert cost({"additionalProperties": {"not": {"enum": [*range(1_996)]}}}) == 2_000
    for more in ({"title": ""}, {"enum": [*range(1_999)]}):
        assert refused(schema | more) == ("too_many_subschemas", "")
        assert refused({"items": schema | more}) == ("too_many_subschemas", "")
        assert refused({"additionalProperties": schema | more}) == ("too_many_subschemas", "")


def test_checks_are_counted_as_deep_as_an_answer_can_be() -> None:
    def chain(length: int) -> Any:
        steps = {f"{n}": {"items": {"$ref": f"#/$defs/{n + 1}"}} for n in range(length)}
        return {"$defs": steps | {f"{length}": {"enum": [*range(1_999)]}}, "$ref": "#/$defs/0"}

    assert refused(chain(64))[0] == "too_many_subschemas"
    assert cost(chain(65)) == 5


def test_the_work_of_looking_grows_with_the_document_only() -> None:
    steps: Any = {f"{n:x}": {"properties": {"a": {"$ref": f"#/$defs/{n + 1:x}"}}} for n in range(600)}
    schema = {"$defs": steps | {"258": {"$ref": "#"}}, "items": {"$ref": "#/$defs/0"}}
    assert calls_of(lambda: check_response_schema(schema)) < 20_000 * len(steps)
    wide = {"anyOf": [True] * 6_000}
    assert calls_of(lambda: refused(wide)) < 500 * 6_000


# ---------------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("", 0),
        ("^abc$", 5),
        ("a|b", 3),
        ("a{3}", 3),
        ("a{0}", 1),
        ("a{2,}", 2),
        ("a{2,5}", 5),
        ("a{2,5}b{3}", 8),
        ("a*b+c?", 3),
        ("a{3}?", 3),
        ("a{3}{4}", 12),
        ("(ab)", 3),
        ("(ab){3}", 9),
        ("(?:ab){3}c", 10),
        ("(?<name_1>ab)", 3),
        ("((a{2}b){3}c){4}", 56),
        ("()", 1),
        ("(a)(b)", 4),
        ("abc(de)f", 7),
        ("[abc]{4}", 4),
        ("[^abc]", 1),
        ("[\\]a]{3}", 3),
        ("[(]{3}", 3),
        ("[{3}]", 1),
        ("\\d{4}-\\d{2}", 7),
        ("\\(\\[\\{\\\\", 4),
        ("\\(?=a\\)", 4),
        ("a{", 2),
        ("a{x}", 4),
        ("a{,5}", 5),
        ("]", 1),
        ("}", 1),
        ("\n{3}", 3),
        ("\\\n", 1),
        ("\\0", 1),
        ("é{3}", 3),
    ],
)
def test_the_length_of_a_pattern_is_counted_with_repetitions_written_out(pattern: str, length: int) -> None:
    assert expanded_length(pattern) == length
    check_response_schema({"pattern": pattern})


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "a(b(?=c))",
        "(a)\\1",
        "(a)\\9",
        "(?<n>a)\\k<n>",
        "(?i)a",
        "(?i:a)",
        "(?x) a",
        "(?P<n>a)",
        "(?<1>a)",
        "(?<>a)",
        "(?>a)",
        "(?#a)",
        "(?",
        "(",
        "(a",
        "a)",
        ")(",
        "(a))",
        "[a",
        "[]",
        "[^]",
        "[]a]",
        "[^]a]",
        "[a[b]]",
        "[[:alpha:]]",
        "\\",
        "a\\",
        "[a\\",
    ],
)
def test_a_pattern_that_no_linear_engine_can_match_is_not_allowed(pattern: str) -> None:
    assert expanded_length(pattern) is None
    assert refused({"items": {"pattern": pattern}}) == ("pattern_not_allowed", "/items/pattern")
    reason, path = refused({"patternProperties": {pattern: True}})
    assert (reason, path) == ("pattern_not_allowed", "/patternProperties/" + pattern.replace("~", "~0"))


def test_a_pattern_may_have_512_characters_and_not_one_more() -> None:
    check_response_schema({"pattern": "a" * 512})
    assert refused({"pattern": "a" * 513}) == ("pattern_not_allowed", "/pattern")


def test_a_pattern_may_have_2_000_characters_when_written_out_and_not_one_more() -> None:
    check_response_schema({"patternProperties": {"a{1998}": True}})
    assert refused({"pattern": "a{2000}"}) == ("too_many_subschemas", "")
    assert refused({"pattern": "a{2001}"}) == ("pattern_not_allowed", "/pattern")
    assert refused({"pattern": "((a{99}){99}){99}"}) == ("pattern_not_allowed", "/pattern")


def test_a_count_of_very_many_digits_is_too_large_and_nothing_worse() -> None:
    digits = "9" * 32_000
    for pattern in (f"a{{{digits}}}", f"a{{1,{digits}}}", f"a{{{digits},}}"):
        assert refused({"pattern": pattern}) == ("pattern_not_allowed", "/pattern")
    zeros = "0" * 200
    assert expanded_length(f"a{{{zeros}3}}b") == expanded_length("a{3}b")
    assert expanded_length(f"a{{{zeros}}}b") == expanded_length("a{0}b")


def test_a_schema_may_have_32_patterns_and_not_one_more() -> None:
    schema: Any = {"properties": {f"{n}": {"pattern": "a"} for n in range(30)}, "patternProperties": {"a": {}, "b": {}}}
    check_response_schema(schema)
    assert [issue.reason for issue in refusals(schema | {"pattern": "a"})] == ["pattern_not_allowed"]


@given(st.text("ab()[]{}\\?:<>=!*+1,|^k", max_size=30))
def test_any_text_has_a_length_or_is_not_allowed(pattern: str) -> None:
    length = expanded_length(pattern)
    assert length is None or length >= 0
    if re.search(r"\(\?[=!#]|\(\?<[=!]", pattern.replace("\\\\", "").replace("\\(", "")) and "[" not in pattern:
        assert length is None


# ---------------------------------------------------------------------------- anything at all

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["#", "#/not", "#/items", "string", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*EVERY_KEYWORD, "a", "$id"]), inner, max_size=4)
    ),
    max_leaves=20,
)


REASONS = {
    "not_a_schema",
    "too_large",
    "too_deep",
    "unknown_keyword",
    "wrong_type",
    "pattern_not_allowed",
    "remote_reference",
    "dangling_reference",
    "endless_recursion",
    "too_many_subschemas",
}


@given(anything)
def test_anything_is_allowed_or_refused_for_a_known_reason(schema: Any) -> None:
    issues: tuple[Issue, ...] = ()
    try:
        allowed = allow_response_schema(schema)
        assert 1 <= allowed.checks_per_value <= 2_000
        assert allowed.schema == schema
    except SchemaNotAllowed as error:
        issues = error.issues
    assert len(issues) <= 20
    assert REASONS.issuperset(issue.reason for issue in issues)
    assert all(issue.message.startswith(("must ", "is ")) for issue in issues)
