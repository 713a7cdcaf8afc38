"""The strict reader of JSON from outside: what it lets through can be kept and compared exactly.

The standard library's parser is lenient (repeated keys, NaN, numbers of any size) and recursive.
So depth and number of values are known before it runs, by counting alone, and what it found is
checked afterwards by the rules that hold for every value that is kept (``canonical.check_json``).
"""

import json
import math
from itertools import accumulate
from typing import Final, cast

from pausemesh.core.canonical import (
    DUPLICATE_KEY,
    MALFORMED,
    NOT_FINITE,
    NOT_UTF8,
    NUMBER_OUT_OF_RANGE,
    TOO_DEEP,
    TOO_MANY_VALUES,
    Defect,
    check_json,
    invalid_json,
)
from pausemesh.core.errors import PayloadTooLarge
from pausemesh.core.limits import JSON_INTEGER_MAGNITUDE, JsonLimits
from pausemesh.core.values import JsonValue

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHITESPACE: Final = b" \t\n\r"
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_ALL_BUT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)
_INTEGER_CHARACTERS: Final = len(str(-JSON_INTEGER_MAGNITUDE))
_DEFAULT: Final = JsonLimits()


def read_json(raw: bytes, limits: JsonLimits = _DEFAULT) -> JsonValue:
    """Read one JSON document (RFC 8259), refusing what two readers could see differently.

    The checks in their order: size, UTF-8 without byte order mark, depth, number of values,
    grammar, length of keys, repeated keys, numbers, characters. All limits are inclusive. Time and
    memory grow with the size of ``raw`` only, whatever is in it.

    Raises:
        PayloadTooLarge: ``raw`` is longer than ``limits.max_bytes``.
        InvalidJson: anything else, with one issue whose reason is malformed, not_utf8,
            duplicate_key, not_finite, number_out_of_range, nul_character, lone_surrogate,
            too_deep, too_many_values or string_too_long. Its path leads to the value (for a key: to
            its object) and is empty for what is found before the document is parsed.
    """
    if len(raw) > limits.max_bytes:
        raise PayloadTooLarge(limit=limits.max_bytes)
    text = _decode(raw)
    if text is None:
        raise invalid_json(NOT_UTF8)
    _check_structure(raw, limits)
    document = _parse(text)
    check_json(document, limits)
    return cast("JsonValue", document)


def _decode(raw: bytes) -> str | None:
    if raw.startswith(_BYTE_ORDER_MARK):
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _check_structure(raw: bytes, limits: JsonLimits) -> None:
    """Count depth and values; exact for JSON, and for anything else a bound on what is parsed."""
    structure = _without_strings(raw).translate(None, _WHITESPACE)
    opened = structure.count(b"[") + structure.count(b"{")
    if opened > limits.max_depth:
        brackets = structure.translate(None, _ALL_BUT_BRACKETS)
        if max(accumulate(map(_STEPS.__getitem__, brackets))) > limits.max_depth:
            raise invalid_json(TOO_DEEP)
    empty = structure.count(b"[]") + structure.count(b"{}")
    if 1 + structure.count(b",") + opened - empty > limits.max_values:
        raise invalid_json(TOO_MANY_VALUES)


def _without_strings(raw: bytes) -> bytes:
    """Leave one quotation mark of each string."""
    if b"\\" in raw:
        # Pairs of backslashes first: what is left before a quotation mark escapes it.
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b'"'.join(raw.split(b'"')[::2])


def _parse(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        pass
    # Raised out here because the parser's error holds the document.
    raise invalid_json(MALFORMED)


def _members(pairs: list[tuple[str, object]]) -> object:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Defect(reason=DUPLICATE_KEY)


def _integer(literal: str) -> object:
    """Read an integer unless it is too long to be in range: reading digits takes square time."""
    if len(literal) > _INTEGER_CHARACTERS:
        return Defect(reason=NUMBER_OUT_OF_RANGE)
    return int(literal)


def _float(literal: str) -> object:
    number = float(literal)
    return number if math.isfinite(number) else Defect(reason=NUMBER_OUT_OF_RANGE)


def _constant(_literal: str) -> object:
    return Defect(reason=NOT_FINITE)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)
