"""The strict reader: what it lets through is exact, what it refuses it refuses within bounds."""

import json
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pausemesh.core.errors import InvalidJson, PayloadTooLarge
from pausemesh.core.issue import Issue
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue

MOST = 2**53 - 1
WIDE = JsonLimits(max_bytes=4_000_000)
REASONS = {
    "malformed",
    "not_utf8",
    "duplicate_key",
    "not_finite",
    "number_out_of_range",
    "nul_character",
    "lone_surrogate",
    "too_deep",
    "too_many_values",
    "string_too_long",
}

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MOST, MOST)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not MOST < abs(number) < 1e21)
    | texts
)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


def refused(raw: bytes, limits: JsonLimits = WIDE) -> Issue:
    """Read what must be refused and return the one issue."""
    with pytest.raises(InvalidJson) as caught:
        read_json(raw, limits)
    (issue,) = caught.value.issues
    return issue


def outcome(raw: bytes, limits: JsonLimits = WIDE) -> str:
    try:
        read_json(raw, limits)
    except InvalidJson as error:
        return error.issues[0].reason
    return "accepted"


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


def depth_of(value: JsonValue) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


def values_of(value: JsonValue) -> int:
    if not isinstance(value, dict | list):
        return 1
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(values_of, inner))


@given(documents, st.sampled_from([{}, {"ensure_ascii": False}, {"indent": 1}, {"indent": "\t"}]))
def test_a_document_of_plain_json_is_read_as_the_standard_library_reads_it(
    document: JsonValue, style: dict[str, Any]
) -> None:
    raw = json.dumps(document, **style).encode()
    assert repr(read_json(raw)) == repr(document)


@given(documents)
def test_depth_and_values_are_counted_exactly(document: JsonValue) -> None:
    raw = json.dumps(document).encode()
    depth, values = max(1, depth_of(document)), values_of(document)
    assert read_json(raw, JsonLimits(max_depth=depth, max_values=values)) == document
    if depth > 1:
        assert outcome(raw, JsonLimits(max_depth=depth - 1)) == "too_deep"
    if values > 1:
        assert outcome(raw, JsonLimits(max_values=values - 1)) == "too_many_values"


@given(
    st.binary(max_size=60)
    | st.text('[]{},:"\\ 10eE.-+ntfu\0é\ud800', max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_read_or_refused_for_a_known_reason(raw: bytes) -> None:
    assert outcome(raw) in REASONS | {"accepted"}


@given(st.lists(st.sampled_from(['"', "\\", "[", "]", "{", "}", ",", ":", "1", "a", " "]), max_size=24).map("".join))
def test_what_is_in_strings_counts_neither_for_depth_nor_for_values(text: str) -> None:
    raw = json.dumps([text, {text: text}]).encode()
    assert read_json(raw, JsonLimits(max_depth=2, max_values=4)) == [text, {text: text}]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"null", None),
        (b" \t\r\n[ ] \n", []),
        (b'""', ""),
        (b"-0", 0),
        (b"9007199254740991", MOST),
        (b"-9007199254740991", -MOST),
        (b"9007199254740991.0", float(MOST)),
        (b"1e21", 1e21),
        (b"-1E+21", -1e21),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"5e-324", 5e-324),
        (b"1e-400", 0.0),
        (b"0.1000000000000000055511151231257827", 0.1),
        (b"12345678901234567e-5", 123456789012.34567),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\u0001\\u007f"', "\x01\x7f"),
        (b'{"__proto__": {"a": 1}}', {"__proto__": {"a": 1}}),
        (b'{"\\u0061": 1, "b": 1}', {"a": 1, "b": 1}),
        (b'["\\\\", "\\\\\\"]", "["]', ["\\", '\\"]', "["]),
    ],
)
def test_what_every_reader_sees_the_same_way_is_accepted(raw: bytes, value: object) -> None:
    assert repr(read_json(raw)) == repr(value)


@pytest.mark.parametrize(
    ("raw", "reason", "path"),
    [
        (b"", "malformed", ""),
        (b" ", "malformed", ""),
        (b"[1,]", "malformed", ""),
        (b'{"a":1,}', "malformed", ""),
        (b"[1] 2", "malformed", ""),
        (b"[1 /* why */]", "malformed", ""),
        (b"{'a':1}", "malformed", ""),
        (b"{1:1}", "malformed", ""),
        (b"01", "malformed", ""),
        (b"1.", "malformed", ""),
        (b".5", "malformed", ""),
        (b"+1", "malformed", ""),
        (b"0x10", "malformed", ""),
        (b"1e", "malformed", ""),
        (b"True", "malformed", ""),
        (b"nan", "malformed", ""),
        (b'"a', "malformed", ""),
        (b'"\\x"', "malformed", ""),
        (b'"\\u12"', "malformed", ""),
        (b'"tab\there"', "malformed", ""),
        (b'"nul\0here"', "malformed", ""),
        ("\u00a01".encode(), "malformed", ""),
        ("\u0661".encode(), "malformed", ""),
        (b"[}", "malformed", ""),
        (b"]", "malformed", ""),
        (b"[]]", "malformed", ""),
        (b"\xef\xbb\xbf1", "not_utf8", ""),
        (b'"\xff"', "not_utf8", ""),
        (b'"\xed\xa0\x80"', "not_utf8", ""),
        (b'"\xc0\x80"', "not_utf8", ""),
        ("[1]".encode("utf-16"), "not_utf8", ""),
        (b'{"a":1,"a":1}', "duplicate_key", ""),
        (b'[{"b":[{"a":1,"\\u0061":2}]}]', "duplicate_key", "/0/b/0"),
        (b"NaN", "not_finite", ""),
        (b"[Infinity]", "not_finite", "/0"),
        (b'{"a/b":{"c~d":-Infinity}}', "not_finite", "/a~1b/c~0d"),
        (b"[1e400]", "number_out_of_range", "/0"),
        (b"[-1e400]", "number_out_of_range", "/0"),
        (b"9007199254740992", "number_out_of_range", ""),
        (b"-9007199254740992", "number_out_of_range", ""),
        (b"9007199254740992.0", "number_out_of_range", ""),
        (b"9007199254740993.0", "number_out_of_range", ""),
        (b"-9007199254740993.5", "number_out_of_range", ""),
        (b"1e20", "number_out_of_range", ""),
        (b"-1e20", "number_out_of_range", ""),
        (b"999999999999999900000.0", "number_out_of_range", ""),
        (b"100000000000000000000000", "number_out_of_range", ""),
        (b'["a","\\u0000"]', "nul_character", "/1"),
        (b'{"a":{"b\\u0000":1}}', "nul_character", "/a"),
        (b'["a",["\\ud800"]]', "lone_surrogate", "/1/0"),
        (b'["\\udc00\\ud800"]', "lone_surrogate", "/0"),
        (b'{"a":{"\\uDFFF":1}}', "lone_surrogate", "/a"),
    ],
)
def test_what_two_readers_may_see_differently_is_refused_at_its_place(raw: bytes, reason: str, path: str) -> None:
    issue = refused(raw)
    assert (issue.reason, issue.path) == (reason, path)


def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_too_large() -> None:
    limits = JsonLimits(max_bytes=7)
    assert read_json(b'"12345"', limits) == "12345"
    with pytest.raises(PayloadTooLarge) as caught:
        read_json(b'"123456"', limits)
    assert caught.value.limit == 7


def test_size_is_judged_before_anything_is_looked_at() -> None:
    with pytest.raises(PayloadTooLarge):
        read_json(b"\xff" * 65_537)


def test_64_containers_may_be_nested_and_65_may_not() -> None:
    assert outcome(b"[" * 64 + b"]" * 64) == "accepted"
    issue = refused(b"[" * 65 + b"]" * 65)
    assert (issue.reason, issue.path) == ("too_deep", "")
    assert outcome(b'{"a":' * 64 + b"1" + b"}" * 64) == "accepted"
    assert outcome(b'{"a":' * 65 + b"1" + b"}" * 65) == "too_deep"


def test_many_containers_side_by_side_are_not_deep() -> None:
    assert outcome(b"[" + b",".join([b"[[]]", b'{"a":{}}'] * 500) + b"]", JsonLimits(max_depth=3)) == "accepted"


def test_50_000_values_may_be_there_and_one_more_may_not() -> None:
    assert outcome(b"[" + b",".join([b"1"] * 49_999) + b"]") == "accepted"
    issue = refused(b"[" + b",".join([b"1"] * 50_000) + b"]")
    assert (issue.reason, issue.path) == ("too_many_values", "")


@pytest.mark.parametrize("container", [b"[ ]", b"{\n}", b'{"a":1}', b"[[1]]"])
def test_containers_count_as_values_and_keys_do_not(container: bytes) -> None:
    values = values_of(json.loads(container))
    raw = b"[" + b" , ".join([container] * 10) + b"]"
    assert outcome(raw, JsonLimits(max_values=10 * values + 1)) == "accepted"
    assert outcome(raw, JsonLimits(max_values=10 * values)) == "too_many_values"


def test_a_key_may_have_256_characters_and_not_one_more() -> None:
    assert outcome(json.dumps({"é" * 256: 1}).encode()) == "accepted"
    issue = refused(json.dumps({"a": [{"é" * 257: 1}]}).encode())
    assert (issue.reason, issue.path) == ("string_too_long", "/a/0")


def test_a_text_may_be_as_long_as_the_body() -> None:
    assert read_json(b'"' + b"a" * 65_534 + b'"') == "a" * 65_534


FAULTS = [
    (b'"\xff"', "not_utf8"),
    (b"[" * 65 + b"]" * 65, "too_deep"),
    (b"[" + b"1," * 300 + b"1]", "too_many_values"),
    (b"[,]", "malformed"),
    (b'{"' + b"k" * 257 + b'":1}', "string_too_long"),
    (b'{"a":1,"a":1}', "duplicate_key"),
    (b"NaN", "not_finite"),
    (b"1e400", "number_out_of_range"),
    (b'"\\u0000"', "nul_character"),
    (b'"\\ud800"', "lone_surrogate"),
]


PAIRS = [
    (first, second, reason) for position, (first, reason) in enumerate(FAULTS) for second, _ in FAULTS[position + 1 :]
]


@pytest.mark.parametrize(("first", "second", "reason"), PAIRS)
def test_of_two_faults_the_earlier_check_is_told_wherever_they_stand(first: bytes, second: bytes, reason: str) -> None:
    limits = JsonLimits(max_values=300)
    assert outcome(b"[" + first + b"," + second + b"]", limits) == reason
    assert outcome(b"[[" + second + b"]," + first + b"]", limits) == reason
    assert outcome(b"[" + second + b",[" + first + b"]]", limits) == reason


def test_a_refusal_shows_nothing_of_the_document_but_the_way() -> None:
    for raw in [
        b'["hunter2", NaN]',
        b'{"hunter2\\ud800": 1}',
        b'{"hunter2": 1, "hunter2": 2}',
        b"hunter2",
        b'"hunter2\xff"',
    ]:
        with pytest.raises(InvalidJson) as caught:
            read_json(raw)
        error = caught.value
        assert "hunter2" not in f"{error!s} {error!r} {error.issues!r}"
        assert error.__context__ is None
        assert error.__cause__ is None


def test_a_pointer_ends_after_256_characters_and_can_always_be_sent() -> None:
    keys = ["a" * 99, "\ud800b", "c" * 151, "d"]
    raw = json.dumps({keys[0]: {keys[1]: {keys[2]: {keys[3]: float("nan")}}}}).encode()
    path = refused(raw).path
    assert path == f"/{'a' * 99}/?b/{'c' * 151}/"
    assert len(path) == 256
    assert path.encode().decode() == path


MEGABYTE = 1_000_000
HOSTILE = {
    "open brackets": b"[" * MEGABYTE,
    "closing brackets": b"]" * MEGABYTE,
    "pairs of brackets": b"[]" * (MEGABYTE // 2),
    "opened objects": b'{"a":' * (MEGABYTE // 5),
    "commas": b"[" + b"," * MEGABYTE,
    "many numbers": b"[" + b"1," * (MEGABYTE // 2) + b"1]",
    "quotation marks": b'"' * (MEGABYTE + 1),
    "backslashes": b"\\" * MEGABYTE,
    "escaped quotation marks": b'"' + b'\\"' * (MEGABYTE // 2),
    "escaped surrogates": b'"' + b"\\ud800" * (MEGABYTE // 6) + b'"',
    "long integer": b"[" + b"9" * 400_000 + b"]",
    "long fraction": b"[0." + b"9" * 400_000 + b"]",
    "long exponent": b"[1e" + b"9" * 400_000 + b"]",
    "blanks": b" " * MEGABYTE,
    "letters": b"n" * MEGABYTE,
    "colons": b":" * MEGABYTE,
    "digits and letters": b"1e" * (MEGABYTE // 2),
    "keys": b"{" + b'"a":1,' * 10_000 + b'"a":1}',
    "values": b"[" + b"1e400," * 10_000 + b"1]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_takes_no_more_calls_and_memory_than_its_size_and_limits_allow(name: str) -> None:
    raw = HOSTILE[name]
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    tracemalloc.start()
    try:
        assert calls_of(lambda: outcome(raw)) < 5 * MEGABYTE
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        sys.set_int_max_str_digits(digits)
    assert peak < 64 * MEGABYTE


def test_a_long_integer_is_refused_without_being_read() -> None:
    assert refused(HOSTILE["long integer"]) == Issue(
        "/0", "number_out_of_range", "must be a number that every reader keeps exactly"
    )


def test_a_document_nested_beyond_the_interpreters_stack_is_only_too_deep() -> None:
    assert outcome(HOSTILE["open brackets"]) == "too_deep"
    assert outcome(HOSTILE["opened objects"]) == "too_deep"
