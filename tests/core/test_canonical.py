"""Canonical bytes: one value, one form, and nothing in it that a reader could see differently."""

import enum
import hashlib
import json
import struct
import sys
import tracemalloc
from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from pausemesh.core.canonical import canonical_bytes, check_json, decode_canonical, digest, pointer
from pausemesh.core.errors import InvalidJson, PayloadTooLarge
from pausemesh.core.issue import Issue
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue

MOST = 2**53 - 1

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
keys = texts | st.sampled_from(["\ufb33", "\U0001f600", "é", "a", "A", "\ue000", "1", "10", "", "\x7f", '"', "\\"])
floats = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not MOST < abs(number) < 1e21)
scalars = st.none() | st.booleans() | st.integers(-MOST, MOST) | floats | texts
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)
plain_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MOST, MOST)
    | st.floats(-1e6, 1e6)
    | st.text('\x01\x1f "\\/\x7fab', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('\x01\n"\\aAz~', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


class Text(str):
    __slots__ = ()


class Number(enum.IntEnum):
    ONE = 1


def refused(value: object, limits: JsonLimits | None = None) -> Issue:
    """Check what must be refused and return the one issue."""
    with pytest.raises(InvalidJson) as caught:
        check_json(value, limits or JsonLimits())
    (issue,) = caught.value.issues
    return issue


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def shuffled(value: JsonValue) -> JsonValue:
    """The same value with the keys of all objects in the opposite order."""
    if isinstance(value, list):
        return [*map(shuffled, value)]
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return value


@given(documents)
def test_the_bytes_are_those_of_rfc_8785(document: JsonValue) -> None:
    assert canonical_bytes(document) == rfc8785.dumps(document)


@given(plain_documents)
def test_the_short_way_to_the_bytes_writes_those_of_rfc_8785(document: JsonValue) -> None:
    assert canonical_bytes(document) == rfc8785.dumps(document)


@given(floats)
@example(0.5)
@example(-0.0)
@example(1e-5)
@example(0.0001)
@example(1e21)
@example(5e-324)
def test_a_number_is_written_as_rfc_8785_says(number: float) -> None:
    assert canonical_bytes([number]) == rfc8785.dumps([number])


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("433ffffffffffffe", "9007199254740990"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("41b3de4355555554", "333333333.33333325"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_the_samples_of_rfc_8785_appendix_b_come_out(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_bytes(number) == text.encode()


def test_the_sample_of_rfc_8785_section_3_comes_out() -> None:
    value = {
        "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical_bytes(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_their_utf_16_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x7f", "\u00f6"]
    assert [*json.loads(canonical_bytes(dict.fromkeys(keys)))] == [
        "\r",
        "1",
        "\x7f",
        "\u00f6",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]


@pytest.mark.parametrize("twins", [(1, 1.0), (0, -0.0), (100, 1e2), ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0})])
def test_spelling_does_not_matter(twins: tuple[object, object]) -> None:
    assert canonical_bytes(twins[0]) == canonical_bytes(twins[1])
    assert digest(twins[0]) == digest(twins[1])


@pytest.mark.parametrize(
    "pair",
    [
        (1, True),
        (0, False),
        (1, "1"),
        (None, "null"),
        ([], {}),
        ([1, 2], [2, 1]),
        ("a", "A"),
        ("é", "e\u0301"),
        (1, 1.0000000000000002),
    ],
)
def test_everything_else_does(pair: tuple[object, object]) -> None:
    assert digest(pair[0]) != digest(pair[1])


@given(documents)
def test_canonical_bytes_read_back_as_themselves(document: JsonValue) -> None:
    data = canonical_bytes(document)
    assert decode_canonical(data) == document
    assert canonical_bytes(decode_canonical(data)) == data
    assert canonical_bytes(read_json(data)) == data
    assert canonical_bytes(shuffled(document)) == data


@given(documents)
def test_a_digest_is_the_sha_256_of_the_bytes_in_lower_case(document: JsonValue) -> None:
    assert digest(document) == hashlib.sha256(canonical_bytes(document)).hexdigest()


def test_a_known_digest_comes_out() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ((), ""),
        ([1, (2,)], "/1"),
        ({"a": {1}}, "/a"),
        ([b"a"], "/0"),
        ([bytearray(b"a")], "/0"),
        ([Decimal(1)], "/0"),
        ([1j], "/0"),
        ([object()], "/0"),
        ([int], "/0"),
        ([Number.ONE], "/0"),
        ([Text("a")], "/0"),
        ([OrderedDict(a=1)], "/0"),
        ([[1], range(2)], "/1"),
        ({1: 2}, ""),
        ({"a": [{None: 2}]}, "/a/0"),
        ({"a": {Text("b"): 2}}, "/a"),
        ({"a": 1, (1, 2): 2}, ""),
        ([{5: [(1,)]}], "/0"),
    ],
)
def test_what_is_not_plain_json_is_malformed_at_its_place(value: object, path: str) -> None:
    issue = refused(value)
    assert (issue.reason, issue.path) == ("malformed", path)


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ([float("nan")], "not_finite", "/0"),
        ({"a": float("inf")}, "not_finite", "/a"),
        ([[], {"b": [-float("inf")]}], "not_finite", "/1/b/0"),
        (2**53, "number_out_of_range", ""),
        ([-(2**53)], "number_out_of_range", "/0"),
        ([10**5000], "number_out_of_range", "/0"),
        ([9007199254740992.0], "number_out_of_range", "/0"),
        ([-1e20], "number_out_of_range", "/0"),
        ([999999999999999868928.0], "number_out_of_range", "/0"),
        (["a\0"], "nul_character", "/0"),
        (["é\0"], "nul_character", "/0"),
        ([{"\0": 1}], "nul_character", "/0"),
        (["\ud800"], "lone_surrogate", "/0"),
        ([{"b": "a\udfff"}], "lone_surrogate", "/0/b"),
        ([["\ud83d", "\ude00"]], "lone_surrogate", "/0/0"),
        ([{"\ud800": 1}], "lone_surrogate", "/0"),
        ([{"a": {"k" * 257: 1}}], "string_too_long", "/0/a"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_its_place(value: object, reason: str, path: str) -> None:
    issue = refused(value)
    assert (issue.reason, issue.path) == (reason, path)
    with pytest.raises(InvalidJson):
        canonical_bytes(value)
    with pytest.raises(InvalidJson):
        digest(value)


@pytest.mark.parametrize(
    "value",
    [MOST, -MOST, float(MOST), -float(MOST), 1e21, -1e21, 1.5, "\x7f\ue000\U0010ffff", {"k" * 256: 1}, {"é" * 256: 1}],
)
def test_what_is_just_within_the_rules_passes(value: object) -> None:
    check_json([value])


def test_64_containers_may_be_nested_and_65_may_not() -> None:
    check_json(nested(64))
    issue = refused(nested(65))
    assert (issue.reason, issue.path) == ("too_deep", "/0" * 64)
    check_json({"a": [1]}, JsonLimits(max_depth=2))
    assert refused({"a": [1, {}]}, JsonLimits(max_depth=2)).path == "/a/1"
    assert refused([[1], [[]], [[]]], JsonLimits(max_depth=2)).path == "/1/0"


def test_50_000_values_may_be_there_and_one_more_may_not() -> None:
    check_json([0] * 49_999)
    issue = refused([0] * 50_000)
    assert (issue.reason, issue.path) == ("too_many_values", "")
    check_json([{"a": 1}, [2]], JsonLimits(max_values=5))
    assert refused([{"a": 1}, [2]], JsonLimits(max_values=4)).path == "/1"
    check_json(1, JsonLimits(max_values=1))


@pytest.mark.parametrize("kind", [list, dict])
def test_a_cyclic_value_is_too_deep(kind: type) -> None:
    container = kind()
    if isinstance(container, list):
        container.append([container])
    else:
        container["a"] = [container]
    assert refused(container).reason == "too_deep"


def test_a_value_that_shares_its_parts_is_counted_as_written_out() -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    assert refused(value).reason == "too_many_values"


def test_texts_that_share_memory_are_too_large_before_they_are_written_out() -> None:
    value = ["a" * 60_000] * 40_000
    tracemalloc.start()
    try:
        with pytest.raises(PayloadTooLarge) as caught:
            canonical_bytes(value)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert caught.value.limit == 65_536


def test_the_characters_of_keys_count_for_the_size_too() -> None:
    value = [{"a" * 200: 1}, {"b" * 200: "é" * 100}]
    check_json(value, JsonLimits(max_bytes=500))
    for limit in (199, 399, 499):
        with pytest.raises(PayloadTooLarge):
            check_json(value, JsonLimits(max_bytes=limit))
    check_json([{"a" * 200: 1}], JsonLimits(max_bytes=200))
    with pytest.raises(PayloadTooLarge):
        check_json([{"a" * 200: 1}], JsonLimits(max_bytes=199))


@pytest.mark.parametrize("value", ["aaaa", "\n\n", "éé", [1, 23], {"a": 1}, {"é": 1.0}])
def test_the_canonical_bytes_may_be_as_many_as_the_limit_and_not_one_more(value: object) -> None:
    size = len(canonical_bytes(value))
    assert len(canonical_bytes(value, JsonLimits(max_bytes=size))) == size
    with pytest.raises(PayloadTooLarge) as caught:
        canonical_bytes(value, JsonLimits(max_bytes=size - 1))
    assert caught.value.limit == size - 1
    with pytest.raises(PayloadTooLarge):
        digest(value, JsonLimits(max_bytes=size - 1))


def test_of_two_faults_the_earlier_rule_is_told_and_of_one_rule_the_first_place() -> None:
    assert refused(["\ud800", ["\0", [(), 2**53]]]) == refused([None, [None, [()]]])
    assert refused([{"a": 2**53}, -(2**53)]).path == "/1"
    assert refused([2**53, 2**54, float("nan"), float("nan")]).path == "/2"


def test_a_fault_is_found_after_what_is_the_same_in_value_but_not_in_kind() -> None:
    assert refused([1, [1, [1, "a", {"a": "x", "b": ["x\0"]}]]]).path == "/1/1/2/b/0"
    assert refused([[[]], [[]], {"a": {}, "b": {"c": (1,)}}]).path == "/2/b/c"


def test_a_key_that_is_no_text_is_not_shown_on_the_way() -> None:
    assert refused({("secret",): nested(64)}).path == "/?" + "/0" * 63


@given(documents)
def test_checking_leaves_the_value_alone_and_passes_what_the_reader_passes(document: JsonValue) -> None:
    before = repr(document)
    check_json(document)
    assert repr(document) == before
    check_json(read_json(json.dumps(document).encode()))


def test_a_refusal_names_no_value() -> None:
    for value in [("hunter2",), {"hunter2": 1, 1: 2}, ["hunter2\0"], {"hunter2\0": 1}]:
        with pytest.raises(InvalidJson) as caught:
            check_json(value)
        assert "hunter2" not in f"{caught.value!s} {caught.value!r} {caught.value.issues!r}"


def test_recursion_is_not_needed_to_look_at_a_value() -> None:
    limits = JsonLimits(max_depth=256, max_values=1_000_000)
    check_json(nested(256), limits)
    assert refused([nested(255), ()], limits).path == "/1"
    assert refused(nested(10 * sys.getrecursionlimit()), limits).reason == "too_deep"


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ((), ""),
        (("a", 0, ""), "/a/0/"),
        (("~/", "~1"), "/~0~1/~01"),
        (("\ud800",), "/?"),
        (("a" * 255,), "/" + "a" * 255),
        (("a" * 256,), "/" + "a" * 255),
        (("é" * 300, "b"), "/" + "é" * 255),
    ],
)
def test_a_pointer_escapes_its_steps_and_ends_after_256_characters(way: tuple[str | int, ...], text: str) -> None:
    assert pointer(*way) == text
