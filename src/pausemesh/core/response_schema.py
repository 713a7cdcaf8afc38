"""A response schema as it is accepted from strangers: JSON Schema 2020-12, closed, local and cheap.

A schema is code that runs on every answer, in a library that cannot be interrupted. So all that it
may cost is bounded here, before anything compiles it. The stable reasons of a refusal:

- ``not_a_schema``: no boolean or object, or not JSON that can be kept
- ``too_large``: more than 32 KiB in canonical form
- ``too_deep``: a subschema inside more than 15 others
- ``unknown_keyword``: a keyword that ``response_schema_keywords`` does not list
- ``wrong_type``: a value that the meta-schema does not allow in this keyword
- ``pattern_not_allowed``: a regular expression that is too long, too costly or not linear, or one
  too many
- ``remote_reference``: a ``$ref`` to anything but a JSON Pointer into this document
- ``dangling_reference``: a ``$ref`` to a place that holds no subschema
- ``endless_recursion``: a subschema that applies itself to the same place again
- ``too_many_subschemas``: too large with every reference replaced by its target, or too many checks
  on one value of an answer
"""

import dataclasses
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from pausemesh.core import limits
from pausemesh.core.canonical import TOO_DEEP as JSON_TOO_DEEP
from pausemesh.core.canonical import canonical_bytes, decode_canonical
from pausemesh.core.errors import InvalidJson, PayloadTooLarge, SchemaNotAllowed
from pausemesh.core.issue import Issue
from pausemesh.core.limits import JsonLimits
from pausemesh.core.response_schema_cost import Subschema, checks_per_value, endless, expanded_size, looks
from pausemesh.core.response_schema_keywords import (
    NAMED,
    ONE,
    SEVERAL,
    Place,
    checks,
    fits,
    is_known,
    is_pattern_allowed,
    patterns,
    subschemas,
)
from pausemesh.core.values import JsonValue

NOT_A_SCHEMA: Final = "not_a_schema"
TOO_LARGE: Final = "too_large"
TOO_DEEP: Final = "too_deep"
UNKNOWN_KEYWORD: Final = "unknown_keyword"
WRONG_TYPE: Final = "wrong_type"
PATTERN_NOT_ALLOWED: Final = "pattern_not_allowed"
REMOTE_REFERENCE: Final = "remote_reference"
DANGLING_REFERENCE: Final = "dangling_reference"
ENDLESS_RECURSION: Final = "endless_recursion"
TOO_MANY_SUBSCHEMAS: Final = "too_many_subschemas"

_MESSAGES: Final = {
    NOT_A_SCHEMA: "must be a boolean or an object",
    TOO_LARGE: f"must be at most {limits.SCHEMA_BYTES} bytes",
    TOO_DEEP: f"must be nested at most {limits.SCHEMA_DEPTH} deep",
    UNKNOWN_KEYWORD: "is no keyword of JSON Schema 2020-12 that is allowed here",
    WRONG_TYPE: "must have the form that JSON Schema 2020-12 asks for",
    PATTERN_NOT_ALLOWED: "must be one of few short regular expressions without look-around, "
    "back-reference, flag or large repetition",
    REMOTE_REFERENCE: "must be a JSON Pointer into this schema",
    DANGLING_REFERENCE: "must lead to a subschema",
    ENDLESS_RECURSION: "must not apply itself to the same place again",
    TOO_MANY_SUBSCHEMAS: "must apply fewer subschemas",
}
_LIMITS: Final = JsonLimits(max_bytes=limits.SCHEMA_BYTES)
_POINTER_CHARACTERS: Final = 256
_FRAGMENT: Final = re.compile(r"#(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@?-]|%[0-9A-Fa-f]{2})*)*")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSchema:
    """A response schema that passed.

    Attributes:
        schema: the schema, a copy in canonical order.
        checks_per_value: a bound on the checks that any one value of an answer takes.
    """

    schema: JsonValue
    checks_per_value: int


def check_response_schema(schema: JsonValue) -> None:
    """Refuse a schema that is not one, or that cannot be checked safely.

    Raises:
        SchemaNotAllowed: with the JSON Pointer and reason of each place, at most 20.
    """
    allow_response_schema(schema)


def allow_response_schema(schema: JsonValue) -> AllowedSchema:
    """Return a schema that passes the check, with what it may cost.

    Raises:
        SchemaNotAllowed: with the JSON Pointer and reason of each place, at most 20.
    """
    kept = _keep(schema)
    reader = _Reader(kept)
    reader.read()
    loops = endless(reader.found)
    _refuse(_issue(ENDLESS_RECURSION, pointer) for pointer in loops)
    cost = checks_per_value(reader.found, limits.SCHEMA_CHECKS_PER_VALUE)
    if expanded_size(reader.found) > limits.SCHEMA_EXPANDED_SUBSCHEMAS or cost > limits.SCHEMA_CHECKS_PER_VALUE:
        _refuse([_issue(TOO_MANY_SUBSCHEMAS)])
    return AllowedSchema(schema=kept, checks_per_value=cost)


def target(reference: str) -> str | None:
    """Return the JSON Pointer in a ``$ref`` (RFC 6901 section 6); None: that is not what is in it."""
    if not _FRAGMENT.fullmatch(reference):
        return None
    try:
        return unquote(reference[1:], errors="strict")
    except UnicodeDecodeError:
        return None


def step(name: str) -> str:
    """Write a name as one step of a JSON Pointer."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _keep(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, bool | dict):
        raise SchemaNotAllowed(issues=[_issue(NOT_A_SCHEMA)])
    try:
        return decode_canonical(canonical_bytes(schema, _LIMITS))
    except PayloadTooLarge:
        issues = [_issue(TOO_LARGE)]
    except InvalidJson as error:
        issues = [
            _issue(TOO_DEEP if issue.reason == JSON_TOO_DEEP else NOT_A_SCHEMA, issue.path) for issue in error.issues
        ]
    raise SchemaNotAllowed(issues=issues)


class _Reader:
    """Goes through a schema document once and finds its subschemas."""

    def __init__(self, schema: JsonValue) -> None:
        self.found: dict[str, Subschema] = {}
        self._waiting: deque[tuple[str, int, JsonValue]] = deque([("", 1, schema)])
        self._references: list[tuple[str, str]] = []
        self._patterns = 0

    def read(self) -> None:
        """Fill ``found``: the subschemas by pointer.

        Raises:
            SchemaNotAllowed: something in the document is not allowed.
        """
        _refuse(self._shape())
        _refuse(_issue(DANGLING_REFERENCE, place) for place, pointer in self._references if pointer not in self.found)

    def _shape(self) -> Iterator[Issue]:
        while self._waiting:
            pointer, depth, schema = self._waiting.popleft()
            if depth > limits.SCHEMA_DEPTH:
                yield _issue(TOO_DEEP, pointer)
            elif isinstance(schema, dict):
                yield from self._keywords(pointer, depth, schema)
            elif isinstance(schema, bool):
                self.found[pointer] = Subschema(checks=1)
            else:
                yield _issue(WRONG_TYPE, pointer)

    def _keywords(self, pointer: str, depth: int, schema: dict[str, JsonValue]) -> Iterator[Issue]:
        edges: dict[Place, list[str]] = {place: [] for place in Place}
        weight = 1
        for keyword, value in schema.items():
            here = pointer + step(keyword)
            if not is_known(keyword):
                yield _issue(UNKNOWN_KEYWORD, here)
            elif not fits(keyword, value):
                yield _issue(WRONG_TYPE, here)
            else:
                weight += checks(keyword, value)
                edges[_place(keyword)] += self._inside(here, depth, keyword, value)
                yield from self._look_at_patterns(here, keyword, value)
        if isinstance(reference := schema.get("$ref"), str):
            yield from self._look_at_reference(pointer + "/$ref", reference, edges[Place.HERE])
        self.found[pointer] = Subschema(
            checks=weight,
            looks=looks(schema),
            here=tuple(edges[Place.HERE]),
            member=tuple(edges[Place.MEMBER]),
            member_too=tuple(edges[Place.MEMBER_TOO]),
            element=tuple(edges[Place.ELEMENT]),
            element_too=tuple(edges[Place.ELEMENT_TOO]),
            contained=tuple(edges[Place.CONTAINED]),
        )

    def _inside(self, here: str, depth: int, keyword: str, value: JsonValue) -> list[str]:
        """Put the subschemas under a keyword on the waiting list and return their pointers."""
        pointers = []
        for name, subschema in subschemas(keyword, value):
            pointers.append(here if name is None else here + step(name))
            self._waiting.append((pointers[-1], depth + 1, subschema))
        return pointers

    def _look_at_patterns(self, here: str, keyword: str, value: JsonValue) -> Iterator[Issue]:
        for name, pattern in patterns(keyword, value):
            self._patterns += 1
            if self._patterns > limits.SCHEMA_PATTERNS or not is_pattern_allowed(pattern):
                yield _issue(PATTERN_NOT_ALLOWED, here if name is None else here + step(name))

    def _look_at_reference(self, here: str, reference: str, edges: list[str]) -> Iterator[Issue]:
        pointer = target(reference)
        if pointer is None:
            yield _issue(REMOTE_REFERENCE, here)
        else:
            self._references.append((here, pointer))
            edges.append(pointer)


def _place(keyword: str) -> Place:
    holders: Mapping[str, Place] = {**ONE, **SEVERAL, **NAMED}
    return holders.get(keyword, Place.NOWHERE)


def _issue(reason: str, pointer: str = "") -> Issue:
    return Issue(pointer[:_POINTER_CHARACTERS], reason, _MESSAGES[reason])


def _refuse(issues: Iterator[Issue] | list[Issue]) -> None:
    """Raise where there is an issue; all are looked for, the first ones are told."""
    found = [*issues]
    if found:
        raise SchemaNotAllowed(issues=found)
