"""An answer asked field by field: what its JSON Schema wants, and what a typed line makes of it. Pure."""

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from pausemesh.cli.plain_text import plain_json
from pausemesh.core.errors import InvalidJson, PayloadTooLarge
from pausemesh.core.json_reader import read_json
from pausemesh.core.response_schema import target
from pausemesh.core.values import JsonValue

Schema: TypeAlias = dict[str, JsonValue]

LEAVE_OUT: Final = "-"
"""What is typed to leave an optional field out that has a default."""

_REFERENCES_FOLLOWED: Final = 16
_YES: Final = frozenset({"y", "yes", "true"})
_NO: Final = frozenset({"n", "no", "false"})
_NEEDED: Final = "A value is needed."
_NEEDED_TEXT: Final = 'A value is needed; "" is the empty text.'
_BOUNDS: Final = (
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
)


class Kind(enum.Enum):
    """How a field is typed."""

    YES_OR_NO = "yes or no"
    CHOICE = "one of these"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    JSON = "JSON"
    ANYTHING = "JSON, or text"


class Left(enum.Enum):
    """What stands for a value that is not there; null is a value."""

    OUT = enum.auto()


Value: TypeAlias = JsonValue | Left


class NotUnderstood(Exception):
    """What was typed is no value of this field; the text says what is wanted."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A value that may be chosen; ``title`` is what its schema calls it."""

    value: JsonValue
    title: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing to ask for; without a name it is the whole answer."""

    name: str | None
    kind: Kind
    required: bool
    nullable: bool = False
    choices: tuple[Choice, ...] = ()
    default: Value = Left.OUT
    title: str | None = None
    description: str | None = None
    bounds: tuple[tuple[str, JsonValue], ...] = ()

    @property
    def may_be_left_out(self) -> bool:
        """Whether an empty line would not leave it out although it may be left out."""
        return not self.required and not isinstance(self.default, Left)

    @property
    def is_numbered(self) -> bool:
        """Whether a choice is made by its number: not where a value itself looks like one."""
        return self.kind is Kind.CHOICE and not any(choice_word(choice.value).isdecimal() for choice in self.choices)


def fields_of(schema: JsonValue) -> tuple[Field, ...]:
    """Return what to ask for: the members of an object, those first that are required, or the whole answer."""
    if schema is None:
        return (Field(name=None, kind=Kind.ANYTHING, required=True),)
    whole, nullable = _resolved(schema, schema)
    members = whole.get("properties")
    if nullable or whole.get("type", "object") != "object" or not isinstance(members, dict) or not members:
        return (_field(None, schema, schema, required=True),)
    required = whole.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    fields = [_field(name, member, schema, required=name in names) for name, member in members.items()]
    return tuple(sorted(fields, key=lambda field: not field.required))


def read(field: Field, typed: str) -> Value:
    """Return the value that a typed line means; nothing typed means the default, or to leave an optional field out.

    Raises:
        NotUnderstood: it means none.
    """
    line = typed.strip()
    if not line:
        if field.required and isinstance(field.default, Left):
            raise NotUnderstood(_NEEDED_TEXT if field.kind in _TEXTS else _NEEDED)
        return field.default
    if line == LEAVE_OUT and field.may_be_left_out:
        return Left.OUT
    if line == "null" and field.nullable:
        return None
    if field.kind is Kind.CHOICE:
        return _choice(field, line)
    return _READERS[field.kind](typed.rstrip("\r\n") if field.kind is Kind.TEXT else line)


def assembled(fields: Sequence[Field], values: Mapping[str | None, Value]) -> JsonValue:
    """Return the answer that the values make; what was left out is not in it."""
    if len(fields) == 1 and fields[0].name is None:
        value = values.get(None, Left.OUT)
        return None if isinstance(value, Left) else value
    return {
        field.name: value
        for field in fields
        if field.name is not None and not isinstance(value := values.get(field.name, Left.OUT), Left)
    }


def failing(fields: Sequence[Field], paths: Sequence[str]) -> tuple[Field, ...]:
    """Return the fields in which places (JSON Pointers) of an answer lie; all of them where a place is in none."""
    names = {_first_step(path) for path in paths}
    found = tuple(field for field in fields if field.name is not None and field.name in names)
    return found if names <= {field.name for field in found} else tuple(fields)


def _field(name: str | None, schema: JsonValue, root: JsonValue, *, required: bool) -> Field:
    resolved, nullable = _resolved(schema, root)
    choices = _choices(resolved, root)
    kind = Kind.CHOICE if choices else _kind(resolved)
    return Field(
        name=name,
        kind=kind,
        required=required,
        nullable=nullable,
        choices=choices,
        default=resolved.get("default", Left.OUT),
        title=_word(resolved.get("title")),
        description=_word(resolved.get("description")),
        bounds=tuple((keyword, resolved[keyword]) for keyword in _BOUNDS if keyword in resolved),
    )


def _resolved(schema: JsonValue, root: JsonValue) -> tuple[Schema, bool]:
    """Return a schema with its references followed, and without null among its alternatives; and whether there was."""
    nullable = False
    for _ in range(_REFERENCES_FOLLOWED):
        if not isinstance(schema, dict):
            return {}, nullable
        if isinstance(reference := schema.get("$ref"), str):
            found = _target(root, reference)
            here = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
            schema = {**found, **here} if isinstance(found, dict) else here
            continue
        alternative = _without_null(schema)
        if alternative is None:
            return schema, nullable
        schema, nullable = alternative, True
    return {}, nullable


def _target(root: JsonValue, reference: str) -> JsonValue:
    place: JsonValue = root
    for step in (target(reference) or "").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict):
            place = place.get(name)
        elif isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        else:
            return None
    return place


def _without_null(schema: Schema) -> Schema | None:
    """Return what a schema is beside null, where it is one thing or null."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) == 2:  # noqa: PLR2004 - one thing, or null
        return {**schema, "type": next(kind for kind in kinds if kind != "null")}
    for keyword in ("anyOf", "oneOf"):
        alternatives = schema.get(keyword)
        if not isinstance(alternatives, list):
            continue
        others = [one for one in alternatives if not _is_null(one)]
        if len(others) == len(alternatives):
            continue
        rest = {name: value for name, value in schema.items() if name != keyword}
        only = others[0] if len(others) == 1 else None
        return {**only, **rest} if isinstance(only, dict) else {**rest, keyword: others}
    return None


def _is_null(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and (schema.get("type") == "null" or schema.get("const", 0) is None)


def _choices(schema: Schema, root: JsonValue) -> tuple[Choice, ...]:
    if "const" in schema:
        return (Choice(value=schema["const"]),)
    if isinstance(values := schema.get("enum"), list):
        return tuple(Choice(value=value) for value in values)
    for keyword in ("oneOf", "anyOf"):
        alternatives = schema.get(keyword)
        if isinstance(alternatives, list):
            resolved = [_resolved(one, root)[0] for one in alternatives]
            if resolved and all("const" in one for one in resolved):
                return tuple(Choice(value=one["const"], title=_word(one.get("title"))) for one in resolved)
    return ()


def _kind(schema: Schema) -> Kind:
    match schema.get("type"):
        case "boolean":
            return Kind.YES_OR_NO
        case "integer":
            return Kind.INTEGER
        case "number":
            return Kind.NUMBER
        case "string":
            return Kind.TEXT
        case _:
            return Kind.JSON


def _yes_or_no(line: str) -> bool:
    word = line.lower()
    if word not in _YES | _NO:
        raise NotUnderstood("Type yes or no.")
    return word in _YES


def _choice(field: Field, line: str) -> JsonValue:
    for choice in field.choices:
        if line in {choice_word(choice.value), plain_json(choice.value, indent=None)}:
            return choice.value
    if field.is_numbered and line.isdecimal() and 1 <= int(line) <= len(field.choices):
        return field.choices[int(line) - 1].value
    raise NotUnderstood("Type the number of one of these." if field.is_numbered else "Type one of these.")


def choice_word(value: JsonValue) -> str:
    """Return what is typed for a value that may be chosen."""
    return value if isinstance(value, str) else plain_json(value, indent=None)


def _integer(line: str) -> JsonValue:
    return _number(line, frozenset({int}), "Type a whole number, such as 12.")


def _any_number(line: str) -> JsonValue:
    return _number(line, frozenset({int, float}), "Type a number, such as 12 or 0.5.")


def _number(line: str, kinds: frozenset[type], wanted: str) -> JsonValue:
    try:
        value = _json(line)
    except NotUnderstood:
        raise NotUnderstood(wanted) from None
    if type(value) not in kinds:
        raise NotUnderstood(wanted)
    return value


def _text(typed: str) -> JsonValue:
    """Return text as it was typed; in double quotes it is JSON, so that every text can be typed."""
    if typed.startswith('"') and typed.endswith('"') and len(typed) > 1:
        return _json(typed)
    return typed


def _json(line: str) -> JsonValue:
    try:
        return read_json(line.encode("utf-8", "surrogatepass"))
    except (InvalidJson, PayloadTooLarge):
        raise NotUnderstood('Type JSON, such as {"a": [1, true, "text"]}; a text stands in double quotes.') from None


def _anything(line: str) -> JsonValue:
    try:
        return _json(line)
    except NotUnderstood:
        return line


def _word(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _first_step(path: str) -> str:
    return path.removeprefix("/").partition("/")[0].replace("~1", "/").replace("~0", "~")


_TEXTS: Final = frozenset({Kind.TEXT, Kind.ANYTHING})
_READERS: Final[Mapping[Kind, Callable[[str], JsonValue]]] = {
    Kind.YES_OR_NO: _yes_or_no,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _any_number,
    Kind.TEXT: _text,
    Kind.JSON: _json,
    Kind.ANYTHING: _anything,
}
