"""Where an answer fails its schema: found within a bound, and said without any of its values.

The library's own list of errors has no bound: it copies the failing part of the answer into each
error and collects them all, alternatives included, before it gives the first. So parts of the
answer are judged with parts of the schema, from the outside in, until enough places are found.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Final, TypeAlias
from urllib.parse import quote

import jsonschema_rs

from pausemesh.adapters.json_schema_judge import judge, register
from pausemesh.core import limits
from pausemesh.core.canonical import pointer
from pausemesh.core.issue import Issue
from pausemesh.core.response_schema import AllowedSchema, step, target
from pausemesh.core.values import JsonValue

_OWN_CHECKS: Final = 50
"""What going through one value costs here, in the measure of ``AllowedSchema.checks_per_value``."""

_DOCUMENT: Final = "urn:pausemesh:response-schema"

_WHOLE: Final = "schema"
"""The reason where no keyword can be named."""

_MESSAGES: Final = {
    "additionalProperties": "is no member that is allowed",
    "anyOf": "must match one of the alternatives",
    "const": "must be the one value that is allowed",
    "contains": "must have the right number of elements that match",
    "dependentRequired": "must have the members that go with others",
    "enum": "must be one of the values that are allowed",
    "exclusiveMaximum": "must be less",
    "exclusiveMinimum": "must be greater",
    "items": "is no element that is allowed",
    "maxItems": "must have fewer elements",
    "maxLength": "must be shorter",
    "maxProperties": "must have fewer members",
    "maximum": "must be less",
    "minItems": "must have more elements",
    "minLength": "must be longer",
    "minProperties": "must have more members",
    "minimum": "must be greater",
    "multipleOf": "must be a multiple of what is asked for",
    "not": "must not match what is excluded",
    "oneOf": "must match exactly one of the alternatives",
    "pattern": "must match the pattern",
    "propertyNames": "must have a name that is allowed",
    "required": "is required",
    "type": "must be of another type",
    "unevaluatedItems": "must have only elements that are allowed",
    "unevaluatedProperties": "must have only members that are allowed",
    "uniqueItems": "must have no element twice",
}
_MESSAGE: Final = "must match the schema"

_ASSERTIONS: Final = _MESSAGES.keys() - {
    "additionalProperties",
    "items",
    "propertyNames",
    "required",
    "unevaluatedItems",
    "unevaluatedProperties",
}
"""Keywords that fail at the very place, whatever is inside of it."""

_Object: TypeAlias = dict[str, JsonValue]
_Steps: TypeAlias = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the answer, the pointer of a subschema that it fails, and the keyword that led there."""

    place: _Steps
    value: JsonValue
    pointer: str
    keyword: str


class FailureSearch:
    """Looks for the places where an answer fails an allowed schema."""

    def __init__(self, allowed: AllowedSchema) -> None:
        self._allowed = allowed
        self._registry = register(_DOCUMENT, allowed.schema)
        self._judges: dict[str, jsonschema_rs.Validator] = {}

    def issues(self, answer: JsonValue) -> tuple[Issue, ...]:
        """Return what is wrong with an answer that does not match: 1 to 20 places, in their order."""
        checks = (self._allowed.checks_per_value + _OWN_CHECKS) * _count(answer)
        steps = min(limits.ISSUE_SEARCH_STEPS, limits.ISSUE_SEARCH_CHECKS // checks)
        found: dict[Issue, None] = {}
        waiting: list[_Part | Issue] = [_Part(place=(), value=answer, pointer="", keyword=_WHOLE)]
        while waiting and len(found) < limits.ISSUES:
            part = waiting.pop()
            if isinstance(part, Issue):
                found[part] = None
                continue
            schema = _look_up(self._allowed.schema, part.pointer)
            if steps == 0 or not isinstance(schema, dict):
                found[_issue(part.place, part.keyword)] = None
                continue
            steps -= 1
            smaller = [*islice(self._apart(part, schema), limits.ISSUES)]
            waiting += reversed(smaller or [_issue(part.place, _unevaluated(part.value))])
        return tuple(found)

    def _apart(self, part: _Part, schema: _Object) -> Iterator[_Part | Issue]:
        """Yield what fails inside of a part that fails: places that are final, and smaller parts."""
        for keyword, constraint in schema.items():
            if keyword in _ASSERTIONS:
                assertion = _alone(keyword, schema, part.pointer)
                if not judge(assertion, self._registry).is_valid(part.value):
                    yield _issue(part.place, keyword)
            elif keyword == "required":
                yield from _missing(part, constraint)
            elif keyword == "propertyNames":
                yield from self._misnamed(part)
            else:
                for steps, value, inner in self._applied(part, keyword, schema):
                    if not self._judge(inner).is_valid(value):
                        yield _Part(place=part.place + steps, value=value, pointer=inner, keyword=keyword)

    def _misnamed(self, part: _Part) -> Iterator[Issue]:
        names = self._judge(part.pointer + "/propertyNames")
        for name in part.value if isinstance(part.value, dict) else ():
            if not names.is_valid(name):
                yield _issue((*part.place, name), "propertyNames")

    def _applied(self, part: _Part, keyword: str, schema: _Object) -> Iterator[tuple[_Steps, JsonValue, str]]:
        """Yield the subschemas under a keyword: the way to what each applies to, that, and its pointer."""
        here = part.pointer + step(keyword)
        for inner in self._applied_here(part, here, keyword, schema):
            yield (), part.value, inner
        if isinstance(part.value, dict):
            for name, inner in _applied_to_members(part.value, here, keyword, schema):
                yield (name,), part.value[name], inner
        elif isinstance(part.value, list):
            for position, inner in _applied_to_elements(part.value, here, keyword, schema):
                yield (position,), part.value[position], inner

    def _applied_here(self, part: _Part, here: str, keyword: str, schema: _Object) -> Iterator[str]:
        match keyword, schema[keyword]:
            case "$ref", str(reference):
                yield target(reference) or ""
            case "allOf", list(several):
                yield from (f"{here}/{position}" for position in range(len(several)))
            case "dependentSchemas", dict(named) if isinstance(part.value, dict):
                yield from (here + step(name) for name in named if name in part.value)
            case "if", _:
                branch = "then" if self._judge(here).is_valid(part.value) else "else"
                yield from (part.pointer + step(name) for name in schema if name == branch)
            case _:
                pass  # applies elsewhere, or asserts nothing

    def _judge(self, inner: str) -> jsonschema_rs.Validator:
        """Compile the subschema at a pointer, once."""
        if inner not in self._judges:
            self._judges[inner] = judge(_link(inner), self._registry)
        return self._judges[inner]


def _applied_to_members(members: _Object, here: str, keyword: str, schema: _Object) -> Iterator[tuple[str, str]]:
    match keyword, schema[keyword]:
        case "properties", dict(named):
            yield from ((name, here + step(name)) for name in named if name in members)
        case "patternProperties", dict(named):
            for pattern in named:
                matches = _matcher(pattern)
                yield from ((name, here + step(pattern)) for name in members if matches(name))
        case "additionalProperties", _:
            others = [_matcher(pattern) for pattern in _names(schema, "patternProperties")]
            known = _names(schema, "properties")
            for name in members:
                if name not in known and not any(matches(name) for matches in others):
                    yield name, here
        case _:
            pass  # applies elsewhere, or asserts nothing


def _matcher(pattern: str) -> Callable[[str], bool]:
    return judge({"pattern": pattern}).is_valid


def _applied_to_elements(
    elements: list[JsonValue], here: str, keyword: str, schema: _Object
) -> Iterator[tuple[int, str]]:
    first = schema.get("prefixItems", [])
    assert isinstance(first, list)
    if keyword == "prefixItems":
        yield from ((position, f"{here}/{position}") for position in range(min(len(first), len(elements))))
    elif keyword == "items":
        yield from ((position, here) for position in range(len(first), len(elements)))


def _missing(part: _Part, constraint: JsonValue) -> Iterator[Issue]:
    if isinstance(part.value, dict) and isinstance(constraint, list):
        for name in constraint:
            if isinstance(name, str) and name not in part.value:
                yield _issue((*part.place, name), "required")


def _alone(keyword: str, schema: _Object, at: str) -> JsonValue:
    """Make one assertion a schema of its own; what is inside of it stays where it is."""
    here = at + step(keyword)
    match keyword, schema[keyword]:
        case "anyOf" | "oneOf", list(several):
            return {keyword: [_link(f"{here}/{position}") for position in range(len(several))]}
        case "not", _:
            return {keyword: _link(here)}
        case "contains", _:
            alone: _Object = {name: schema[name] for name in schema if name.endswith("Contains")}
            return alone | {"contains": _link(here)}
        case _:
            return {keyword: schema[keyword]}


def _link(inner: str) -> JsonValue:
    return {"$ref": f"{_DOCUMENT}#{quote(inner)}"}


def _names(schema: _Object, keyword: str) -> Collection[str]:
    named = schema.get(keyword, {})
    assert isinstance(named, dict)
    return named.keys()


def _unevaluated(value: JsonValue) -> str:
    """Name what is left to fail where no other keyword does."""
    return "unevaluatedItems" if isinstance(value, list) else "unevaluatedProperties"


def _look_up(schema: JsonValue, inner: str) -> JsonValue:
    for escaped in inner.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict):
            schema = schema[name]
        else:
            assert isinstance(schema, list)
            schema = schema[int(name)]
    return schema


def _count(answer: JsonValue) -> int:
    count = 0
    waiting = [answer]
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
    return count


def _issue(place: _Steps, keyword: str) -> Issue:
    return Issue(pointer(*place), keyword, _MESSAGES.get(keyword, _MESSAGE))
