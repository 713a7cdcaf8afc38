"""Reading a request's body: bounded in size and time, refused before it is read where that can be known."""

import asyncio
import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.types import Receive

from pausemesh.core.errors import InvalidRequest, PayloadTooLarge
from pausemesh.core.issue import Issue
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JsonLimits
from pausemesh.server import limits
from pausemesh.server.errors import RequestTimeout, UnsupportedMediaType
from pausemesh.server.headers import has_body, parameters_of


class ClientGone(Exception):
    """The client went before it had sent everything; nobody is there to be answered."""


def require_declared_size(headers: Mapping[bytes, bytes], most: int) -> None:
    """Pass a body that does not say that it is too large.

    Raises:
        PayloadTooLarge: it says so.
    """
    if int(headers.get(b"content-length", b"0")) > most:
        raise PayloadTooLarge(limit=most)


def require_json(headers: Mapping[bytes, bytes], *, may_be_empty: bool) -> None:
    """Pass a body of JSON in UTF-8 that is not compressed.

    Raises:
        UnsupportedMediaType: it is another, or has no media type.
    """
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise UnsupportedMediaType
    if b"content-type" not in headers:
        if may_be_empty and not has_body(headers):
            return
        raise UnsupportedMediaType
    kind, parameters = parameters_of(headers[b"content-type"].decode("latin-1"))
    if kind != "application/json" or parameters.get("charset", "utf-8").lower() != "utf-8":
        raise UnsupportedMediaType


async def read_body(receive: Receive, most: int) -> bytes:
    """Return the body; no more than about ``most`` bytes of it are read.

    Raises:
        PayloadTooLarge: it is larger.
        RequestTimeout: nothing came for 10 seconds, or it is not there after 60.
        ClientGone: the client went.
    """
    parts: list[bytes] = []
    size = 0
    now = asyncio.get_running_loop().time
    ends = now() + limits.BODY_SECONDS
    try:
        async with asyncio.timeout(limits.BODY_IDLE_SECONDS) as patience:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    raise PayloadTooLarge(limit=most)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
                patience.reschedule(min(ends, now() + limits.BODY_IDLE_SECONDS))
    except TimeoutError:
        raise RequestTimeout from None


def limits_of_body(json_limits: JsonLimits) -> JsonLimits:
    """Return what a body may measure in which values of these limits stand."""
    return dataclasses.replace(
        json_limits,
        max_depth=json_limits.max_depth + limits.ENVELOPE_DEPTH,
        max_values=json_limits.max_values + limits.ENVELOPE_VALUES,
    )


def parse_body(raw: bytes, headers: Mapping[bytes, bytes], shape: type[Any], body_limits: JsonLimits) -> Any:
    """Return a body as its shape; an empty one without a media type counts as ``{}``.

    Raises:
        InvalidJson: it is not the JSON that is kept here.
        InvalidRequest: it has not this shape.
    """
    if not raw and b"content-type" not in headers:
        raw = b"{}"
    return shaped(read_json(raw, body_limits), shape)


def shaped(value: object, shape: type[Any]) -> Any:
    """Return plain JSON as a struct; nothing is coerced.

    Raises:
        InvalidRequest: a member is missing, unknown or of another type; the issue names its place.
    """
    _refuse_unknown(value, shape, "")
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidRequest(issues=[_issue(str(error))]) from None


def _refuse_unknown(value: object, shape: type[Any], path: str) -> None:
    """Refuse a member that the shape has not; its name is the caller's own text, so that only its place is told."""
    if not isinstance(value, dict):
        return
    known = _KNOWN.get(shape) or _learn(shape)
    if not value.keys() <= known.names:
        names = ", ".join(sorted(known.names))
        raise InvalidRequest(issues=[Issue(path, "unknown_member", f"has a member that is none of {names}")])
    for name, part in known.parts:
        _refuse_unknown(value.get(name), part, f"{path}/{name}")


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """The names of a shape's members, and those of them that are shapes themselves."""

    names: frozenset[str]
    parts: tuple[tuple[str, type[Any]], ...]


_KNOWN: Final[dict[type[Any], _Known]] = {}


def _learn(shape: type[Any]) -> _Known:
    """Take note of a shape, since looking into it costs more than all that is done with it."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
    parts = [
        (name, part)
        for name, kind in fields.items()
        for part in typing.get_args(kind)
        if isinstance(part, type) and issubclass(part, msgspec.Struct)
    ]
    return _KNOWN.setdefault(shape, _Known(frozenset(fields), tuple(parts)))


def _issue(text: str) -> Issue:
    """Return what a checker's text says; a value of the caller's that stands in it is left out."""
    message, _, place = text.rpartition(" - at `") if text.endswith("`") and " - at `" in text else (text, "", "")
    path = place.removesuffix("`").removeprefix("$").replace(".", "/").replace("[", "/").replace("]", "")
    if "missing required field" in message:
        name = message.partition("`")[2].rpartition("`")[0]
        return Issue(f"{path}/{name}", "missing", "is required")
    if message.startswith("Invalid enum value"):
        return Issue(path, "enum", "is not one of the known values")
    return Issue(path, "type", message[:1].lower() + message[1:])
