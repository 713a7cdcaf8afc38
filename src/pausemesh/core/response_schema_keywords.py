"""The keywords of JSON Schema 2020-12: which a response schema may use, and what may stand in each.

From the vocabularies core, applicator, unevaluated, validation, meta-data, format and content. Left
out are the ones that give a schema a name of its own or resolve at run time (``$id``, ``$anchor``,
``$vocabulary``, ``$dynamicRef``, ``$dynamicAnchor``): one document, one way to point into it.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pausemesh.core import limits
from pausemesh.core.response_schema_pattern import expanded_length
from pausemesh.core.values import JsonValue

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})

_FRACTION_CHECKS: Final = 500
_UNIQUE_CHECKS: Final = 16
_CONTAINER_CHECKS: Final = 16


class Place(enum.Enum):
    """Where in an answer the subschemas under a keyword apply."""

    HERE = enum.auto()
    """At the same place."""
    MEMBER = enum.auto()
    """At members of an object; of all these keywords only one subschema applies to a member."""
    MEMBER_TOO = enum.auto()
    """At members of an object, beside others."""
    ELEMENT = enum.auto()
    """At elements of an array; of all these keywords only one subschema applies to an element."""
    ELEMENT_TOO = enum.auto()
    """At elements of an array, beside others."""
    CONTAINED = enum.auto()
    """At elements of an array, beside others, and again to see which were evaluated."""
    NOWHERE = enum.auto()
    """They only apply where a reference leads to them, or never."""


ONE: Final[Mapping[str, Place]] = {
    "not": Place.HERE,
    "if": Place.HERE,
    "then": Place.HERE,
    "else": Place.HERE,
    "additionalProperties": Place.MEMBER,
    "propertyNames": Place.MEMBER_TOO,
    "unevaluatedProperties": Place.MEMBER_TOO,
    "items": Place.ELEMENT,
    "contains": Place.CONTAINED,
    "unevaluatedItems": Place.ELEMENT_TOO,
    "contentSchema": Place.NOWHERE,
}
"""Keywords that hold a subschema."""

SEVERAL: Final[Mapping[str, Place]] = {
    "allOf": Place.HERE,
    "anyOf": Place.HERE,
    "oneOf": Place.HERE,
    "prefixItems": Place.ELEMENT,
}
"""Keywords that hold a list of subschemas."""

NAMED: Final[Mapping[str, Place]] = {
    "dependentSchemas": Place.HERE,
    "properties": Place.MEMBER,
    "patternProperties": Place.MEMBER_TOO,
    "$defs": Place.NOWHERE,
}
"""Keywords that hold an object of subschemas."""


def is_known(keyword: str) -> bool:
    """Tell whether a response schema may have this keyword."""
    return keyword in _SHAPES


def fits(keyword: str, value: JsonValue) -> bool:
    """Tell whether ``value`` has the shape that the meta-schema asks of this known keyword."""
    return _SHAPES[keyword](value)


def subschemas(keyword: str, value: JsonValue) -> Iterator[tuple[str | None, JsonValue]]:
    """Yield what a keyword of fitting shape holds: its subschemas, each with its step after it."""
    if keyword in ONE:
        yield None, value
    elif keyword in SEVERAL and isinstance(value, list):
        yield from ((str(position), subschema) for position, subschema in enumerate(value))
    elif keyword in NAMED and isinstance(value, dict):
        yield from value.items()


def patterns(keyword: str, value: JsonValue) -> Iterator[tuple[str | None, str]]:
    """Yield the regular expressions of a keyword of fitting shape, each with its step after it."""
    if keyword == "pattern" and isinstance(value, str):
        yield None, value
    elif keyword == "patternProperties" and isinstance(value, dict):
        yield from ((pattern, pattern) for pattern in value)


def is_pattern_allowed(pattern: str) -> bool:
    """Tell whether a linear engine can match ``pattern``, at a bounded cost a character."""
    length = expanded_length(pattern)
    return (
        len(pattern) <= limits.SCHEMA_PATTERN_CHARACTERS
        and length is not None
        and length <= limits.SCHEMA_CHECKS_PER_VALUE
    )


def checks(keyword: str, value: JsonValue) -> int:
    """Weigh a keyword of fitting shape without its subschemas: one for itself, one for each entry.

    An entry that is compared as a whole, the characters of a pattern, uniqueness and multiples of a
    fraction weigh by what they were measured to take.
    """
    total = 1 + sum(expanded_length(pattern) or 0 for _, pattern in patterns(keyword, value))
    if keyword == "multipleOf":
        return total + (_FRACTION_CHECKS if isinstance(value, float) else 0)
    if keyword == "uniqueItems":
        return total + (_UNIQUE_CHECKS if value else 0)
    if keyword in {"const", "enum"}:
        return total + _comparisons(value if keyword == "enum" else [value])
    if keyword in {"dependentRequired", "dependentSchemas"} and isinstance(value, dict):
        return total + len(value)
    return total


def _comparisons(entries: JsonValue) -> int:
    assert isinstance(entries, list)
    if all(isinstance(entry, str) for entry in entries):
        return 0  # looked up, not compared one by one
    return sum(_CONTAINER_CHECKS if isinstance(entry, list | dict) else 1 for entry in entries)


def _anything(_value: JsonValue) -> bool:
    return True


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_boolean(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_positive(value: JsonValue) -> bool:
    return isinstance(value, int | float) and _is_number(value) and value > 0


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int | float) and _is_number(value) and value >= 0 and value == int(value)


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list)


def _is_filled_list(value: JsonValue) -> bool:
    return isinstance(value, list) and value != []


def _is_object(value: JsonValue) -> bool:
    return isinstance(value, dict)


def _are_names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [name for name in value if isinstance(name, str)]
    return len(names) == len(value) == len(set(names))


def _are_dependencies(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


def _are_types(value: JsonValue) -> bool:
    if isinstance(value, str):
        return value in TYPES
    return _is_filled_list(value) and _are_names(value) and TYPES.issuperset(_strings(value))


def _strings(value: JsonValue) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _is_dialect(value: JsonValue) -> bool:
    return value == DIALECT


_SHAPES: Final[Mapping[str, Callable[[JsonValue], bool]]] = {
    "$schema": _is_dialect,
    "$ref": _is_text,
    "$comment": _is_text,
    "type": _are_types,
    "const": _anything,
    "enum": _is_list,
    "multipleOf": _is_positive,
    "required": _are_names,
    "dependentRequired": _are_dependencies,
    "default": _anything,
    "examples": _is_list,
    **dict.fromkeys(("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"), _is_number),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems"), _is_count),
    **dict.fromkeys(("maxContains", "minContains", "maxProperties", "minProperties"), _is_count),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_boolean),
    **dict.fromkeys(("title", "description", "format", "pattern"), _is_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(ONE, _anything),
    **dict.fromkeys(SEVERAL, _is_filled_list),
    **dict.fromkeys(NAMED, _is_object),
}
