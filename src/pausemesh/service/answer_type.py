"""The type that an answer is asked for in: a JSON Schema for whoever answers, a conversion for whoever asked."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
import msgspec.inspect

from pausemesh.core.errors import AnswerMismatch, InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonValue

AnswerT = TypeVar("AnswerT")

_TEXT_FORMS: Final = frozenset({"format", "contentEncoding", "contentMediaType"})
_READ_FROM_TEXT: Final = (
    msgspec.inspect.DateTimeType,
    msgspec.inspect.DateType,
    msgspec.inspect.TimeType,
    msgspec.inspect.TimeDeltaType,
    msgspec.inspect.UUIDType,
    msgspec.inspect.DecimalType,
    msgspec.inspect.BytesType,
    msgspec.inspect.ByteArrayType,
    msgspec.inspect.MemoryViewType,
    msgspec.inspect.CustomType,
    msgspec.inspect.RawType,
)
_OUTSIDE_THE_VOCABULARY: Final = frozenset({"discriminator"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerType(Generic[AnswerT]):
    """What the question declares as its ``schema``, where it ``has_schema``, and how an answer becomes the type."""

    schema: JsonValue
    has_schema: bool
    convert: Callable[[JsonValue], AnswerT]


def answer_type_of(answer: Any) -> AnswerType[Any]:
    """Read what a caller gave as ``answer``.

    A mapping or a boolean is a JSON Schema, and answers stay plain JSON. A pydantic model, recognised by its methods,
    speaks for itself. Of any other type (dataclass, TypedDict, msgspec Struct, ``str``, ``list[int]``, a Literal …)
    msgspec makes the schema and the conversion.

    Raises:
        InvalidRequest: no schema can be made of it.
    """
    if answer is None:
        return AnswerType(schema=None, has_schema=False, convert=_as_it_is)
    if isinstance(answer, bool | Mapping):
        schema = dict(answer) if isinstance(answer, Mapping) else answer
        return AnswerType(schema=cast("JsonValue", schema), has_schema=True, convert=_as_it_is)
    if hasattr(answer, "model_json_schema") and hasattr(answer, "model_validate"):
        return AnswerType(
            schema=_within_the_vocabulary(answer.model_json_schema()),
            has_schema=True,
            convert=_reporting(answer.model_validate),
        )
    try:
        schema = msgspec.json.schema(answer)
        _refuse_text_forms(msgspec.inspect.type_info(answer))
    except (TypeError, RecursionError):
        raise InvalidRequest(issues=[Issue("/answer", "type", "no JSON Schema can be made of this type")]) from None
    return AnswerType(
        schema=_within_the_vocabulary(schema),
        has_schema=True,
        convert=_reporting(lambda value: msgspec.convert(value, answer, str_keys=True)),
    )


def _as_it_is(value: JsonValue) -> JsonValue:
    return value


def _reporting(convert: Callable[[JsonValue], AnswerT]) -> Callable[[JsonValue], AnswerT]:
    """Return the conversion with an error of ours, which holds nothing of the answer."""

    def converted(value: JsonValue) -> AnswerT:
        try:
            return convert(value)
        except Exception:  # noqa: BLE001 - a type's own code may raise anything, with the answer in it
            raise AnswerMismatch from None

    return converted


def _within_the_vocabulary(schema: Any) -> JsonValue:
    """Leave out what the makers of schemas add from OpenAPI.

    Raises:
        InvalidRequest: the type has a text form (dates, UUIDs, decimals, bytes) that no schema can hold an answer to.
    """
    if isinstance(schema, dict):
        if not _TEXT_FORMS.isdisjoint(schema) and schema.get("type") == "string":
            raise _text_form()
        return {
            name: _within_the_vocabulary(value)
            for name, value in schema.items()
            if name not in _OUTSIDE_THE_VOCABULARY or "propertyName" not in value
        }
    if isinstance(schema, list | tuple):
        return [_within_the_vocabulary(value) for value in schema]
    return cast("JsonValue", schema)


def _refuse_text_forms(info: object) -> None:
    """Look at every part of a type for those that msgspec reads from text, or from anything, in its own way."""
    pending, seen = [info], set[int]()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, _READ_FROM_TEXT):
            raise _text_form()
        if isinstance(part, tuple):
            pending += part
        elif isinstance(part, msgspec.inspect.Type | msgspec.inspect.Field):
            pending += [getattr(part, name, None) for name in part.__struct_fields__]


def _text_form() -> InvalidRequest:
    message = "has a part whose text form no JSON Schema checks, as dates have; ask for text"
    return InvalidRequest(issues=[Issue("/answer", "type", message)])
