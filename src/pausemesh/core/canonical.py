"""Canonical JSON: what may be kept, the one way to write it as bytes, and its digest.

A value is kept only where every reader of JSON sees the same value in it (I-JSON, RFC 7493) and
where its canonical form (RFC 8785) reads back as itself. Two values are equal when their canonical
bytes are.
"""

import dataclasses
import hashlib
import json
import math
from bisect import bisect
from itertools import accumulate
from typing import Any, Final, cast

import rfc8785

from pausemesh.core import limits as bounds
from pausemesh.core.errors import InvalidJson, PayloadTooLarge
from pausemesh.core.issue import Issue
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue

MALFORMED: Final = "malformed"
NOT_UTF8: Final = "not_utf8"
TOO_DEEP: Final = "too_deep"
TOO_MANY_VALUES: Final = "too_many_values"
STRING_TOO_LONG: Final = "string_too_long"
DUPLICATE_KEY: Final = "duplicate_key"
NOT_FINITE: Final = "not_finite"
NUMBER_OUT_OF_RANGE: Final = "number_out_of_range"
NUL_CHARACTER: Final = "nul_character"
LONE_SURROGATE: Final = "lone_surrogate"

_MESSAGES: Final = {
    NOT_UTF8: "must be UTF-8 without a byte order mark",
    MALFORMED: "must be JSON",
    TOO_DEEP: "must be nested less deeply",
    TOO_MANY_VALUES: "must hold fewer values",
    STRING_TOO_LONG: "must have shorter keys",
    DUPLICATE_KEY: "must not repeat a key",
    NOT_FINITE: "must be a finite number",
    NUMBER_OUT_OF_RANGE: "must be a number that every reader keeps exactly",
    NUL_CHARACTER: "must not contain U+0000",
    LONE_SURROGATE: "must not contain half of a surrogate pair",
}
_RANKS: Final = {reason: rank for rank, reason in enumerate(_MESSAGES)}

_POINTER_CHARACTERS: Final = 256
_EXPONENT_FROM: Final = 1e21
"""From here on RFC 8785 writes a whole number with an exponent, so it cannot pass for an integer."""

_DEFAULT: Final = JsonLimits()
_PLAIN: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What a reader puts in the place of a part that cannot be kept; the check refuses it there."""

    reason: str


def invalid_json(reason: str, path: str = "") -> InvalidJson:
    """Build the refusal for one of the reasons above; ``path`` is a JSON Pointer (RFC 6901)."""
    return InvalidJson(issues=[Issue(path, reason, _MESSAGES[reason])])


def pointer(*keys: str | int) -> str:
    """Write keys and positions as a JSON Pointer (RFC 6901) that can be shown anywhere.

    It ends after 256 characters, and half of a surrogate pair is shown as a question mark.
    """
    steps = ("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "".join(steps)[:_POINTER_CHARACTERS].encode(errors="replace").decode()


def check_json(value: object, limits: JsonLimits = _DEFAULT) -> None:
    """Refuse what is not plain JSON, or not JSON that can be kept and compared exactly.

    Plain are None, bool, int, float, str, list and dict with str keys, each by its exact type. The
    work is bounded by ``limits``, whatever the value: a cyclic value is too deep, unless it unfolds
    to too many values first. Where several rules are broken, the refusal names the first in the
    order of the reasons above.

    Raises:
        InvalidJson: with one issue: where, and which rule.
        PayloadTooLarge: its texts alone have more characters than ``limits.max_bytes``.
    """
    if not _is_ordinary(value, limits):
        _Survey(limits).run(value)


def canonical_bytes(value: object, limits: JsonLimits = _DEFAULT) -> bytes:
    """Check ``value`` as ``check_json`` does and write it as RFC 8785 says.

    Raises:
        InvalidJson: the value cannot be kept.
        PayloadTooLarge: the canonical form is longer than ``limits.max_bytes``.
    """
    checked = cast("JsonValue", value)
    data = _PLAIN.encode(checked).encode() if _is_plain(value, limits) else rfc8785.dumps(checked)
    if len(data) > limits.max_bytes:
        raise PayloadTooLarge(limit=limits.max_bytes)
    return data


def write_own(value: JsonValue) -> str:
    """Write a value of our own making as RFC 8785 says: checked texts, ASCII keys, and no number that is a float."""
    return _PLAIN.encode(value)


def digest(value: object, limits: JsonLimits = _DEFAULT) -> str:
    """Return the SHA-256 of the canonical bytes as 64 lower-case hexadecimal digits.

    Raises:
        InvalidJson: the value cannot be kept.
        PayloadTooLarge: the canonical form is longer than ``limits.max_bytes``.
    """
    return hashlib.sha256(canonical_bytes(value, limits)).hexdigest()


def decode_canonical(data: bytes) -> JsonValue:
    """Read what ``canonical_bytes`` wrote; for bytes of ours only, nothing is checked again."""
    return cast("JsonValue", _DECODER.decode(data.decode()))


def _is_plain(value: object, limits: JsonLimits) -> bool:
    """Check a value, and tell whether the standard library's encoder writes it as RFC 8785 says."""
    if _is_ordinary(value, limits):
        return True
    survey = _Survey(limits)
    survey.run(value)
    return survey.plain


def _is_ordinary(value: object, limits: JsonLimits) -> bool:
    """Tell at a glance that a value is plain and within the limits, as most are: few values, ASCII, no fractions.

    As few values as there may be levels cannot be nested too deeply. False says nothing: the survey has to look.
    """
    few, most, room = min(limits.max_values, limits.max_depth), bounds.JSON_INTEGER_MAGNITUDE, limits.max_bytes
    values: list[Any] = [value]
    for item in values:
        kind = type(item)
        if kind is str:
            room -= len(item)
            good = room >= 0 and item.isascii() and "\0" not in item
        elif kind is dict:
            good = len(values) + len(item) <= few and _has_ordinary_keys(item, limits)
            if good:
                room -= sum(map(len, item))
                values += item.values()
        elif kind is list:
            good = len(values) + len(item) <= few
            if good:
                values += item
        elif kind is int:
            good = -most <= item <= most
        else:
            good = item is None or kind is bool
        if not good:
            return False
    return room >= 0


def _has_ordinary_keys(container: dict[Any, Any], limits: JsonLimits) -> bool:
    longest = limits.max_key_characters
    for key in container:
        if type(key) is not str or len(key) > longest or not key.isascii() or "\0" in key:
            return False
    return True


class _Survey:
    """One pass over a value, level by level, without recursion.

    ``levels[n]`` are the values inside of n containers, in the order of the document; each level
    is the children of the containers of the one before, one after the other. So the way to a value
    need not be written down while nothing is wrong with it.

    Attributes:
        plain: the standard library's encoder writes the very bytes that RFC 8785 asks for: ASCII
            keys sort the same by code point and by UTF-16, both escape the same characters in the
            same way, and both write a float as ``repr`` does, save an exponent or a final ``.0``.
    """

    def __init__(self, limits: JsonLimits) -> None:
        self.plain = True
        self._limits = limits
        self._levels: list[list[Any]] = []
        self._values = 1
        self._room = limits.max_bytes
        self._fault: tuple[int, int, object] | None = None

    def run(self, value: object) -> None:
        level = [value]
        while level:
            self._levels.append(level)
            containers = self._look_at(level)
            if containers and len(self._levels) > self._limits.max_depth:
                raise self._refusal(TOO_DEEP, containers[0])
            level = self._inside(containers)
        if self._fault is not None:
            rank, depth, item = self._fault
            del self._levels[depth:]
            raise self._refusal(list(_RANKS)[rank], item)

    def _look_at(self, level: list[Any]) -> list[Any]:
        """Look at every value of a level and return the containers among them."""
        containers = []
        most = bounds.JSON_INTEGER_MAGNITUDE
        for item in level:
            kind = type(item)
            if kind is str:
                self._room -= len(item)
                if self._room < 0 or "\0" in item or not item.isascii():
                    self._look_at_text(item, item)
            elif kind is dict or kind is list:
                containers.append(item)
            elif kind is int:
                if not -most <= item <= most:
                    self._note(NUMBER_OUT_OF_RANGE, item)
            elif kind is float:
                self._look_at_float(item)
            elif item is not None and kind is not bool:
                self._note(item.reason if kind is Defect else MALFORMED, item)
        return containers

    def _look_at_float(self, number: float) -> None:
        text = repr(number)
        self.plain = self.plain and "e" not in text and not text.endswith(".0")
        if not math.isfinite(number):
            self._note(NOT_FINITE, number)
        elif bounds.JSON_INTEGER_MAGNITUDE < abs(number) < _EXPONENT_FROM:
            self._note(NUMBER_OUT_OF_RANGE, number)

    def _inside(self, containers: list[Any]) -> list[Any]:
        """Look at the keys of the containers and return what is in them."""
        inside: list[Any] = []
        for container in containers:
            self._values += len(container)
            if self._values > self._limits.max_values:
                raise self._refusal(TOO_MANY_VALUES, container)
            if type(container) is dict:
                self._look_at_keys(container)
                inside += container.values()
            else:
                inside += container
        return inside

    def _look_at_keys(self, container: dict[Any, Any]) -> None:
        longest = self._limits.max_key_characters
        for key in container:
            if type(key) is not str:
                self._note(MALFORMED, container)
                continue
            self._room -= len(key)
            if len(key) > longest:
                self._note(STRING_TOO_LONG, container)
            if self._room < 0 or "\0" in key or not key.isascii():
                self._look_at_text(key, container)
                self.plain = self.plain and key.isascii()

    def _look_at_text(self, text: str, place: object) -> None:
        if self._room < 0:
            raise PayloadTooLarge(limit=self._limits.max_bytes)
        if "\0" in text:
            self._note(NUL_CHARACTER, place)
        if _has_lone_surrogate(text):
            self._note(LONE_SURROGATE, place)

    def _note(self, reason: str, item: object) -> None:
        """Keep the fault of the earliest rule, and of that one the first in sight."""
        rank = _RANKS[reason]
        if self._fault is None or rank < self._fault[0]:
            self._fault = (rank, len(self._levels), item)

    def _refusal(self, reason: str, item: object) -> InvalidJson:
        """Name the way to the first place of the last level that holds this very object."""
        keys: list[str | int] = []
        position = next(n for n, other in enumerate(self._levels[-1]) if other is item)
        for level in self._levels[-2::-1]:
            sizes = [len(item) if type(item) in {dict, list} else 0 for item in level]
            ends = [*accumulate(sizes)]
            parent = bisect(ends, position)
            inner = position - ends[parent] + sizes[parent]
            keys.append(inner if type(level[parent]) is list else _name(level[parent], inner))
            position = parent
        return invalid_json(reason, pointer(*reversed(keys)))


def _name(container: dict[Any, Any], position: int) -> str:
    """Return a key as it may be shown: one that is no text is none of ours to write."""
    key = [*container][position]
    return key if type(key) is str else "?"


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
