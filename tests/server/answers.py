"""What an answer must be, whatever it answers: of a promised shape, and without anything that was secret."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from pausemesh.server import bodies
from pausemesh.server.app import OPERATIONS
from pausemesh.server.operation import Operation
from pausemesh.server.problems import STATUS, TITLES, type_of

SECRET_CHARACTERS: Final = 8
"""Shorter texts of a request may stand in an answer by chance."""

_WORDS: Final = frozenset({"operator", "approval", "application/json", "authorization", "completed", "PauseMesh"})
"""Words of the contract, which an answer may say whoever else said them."""


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem."""
        code: str = self.json["code"]
        return code

    @property
    def outcome(self) -> tuple[int, str]:
        """The status and the code of a problem."""
        return self.status, self.code

    @property
    def is_problem(self) -> bool:
        """Whether it says that it is one."""
        return self.headers.get("content-type") == "application/problem+json"

    @property
    def closes(self) -> bool:
        """Whether it says that the connection ends with it."""
        return self.headers.get("connection") == "close"


def require_valid(method: str, path: str, headers: Mapping[str, str], body: bytes, reply: Reply) -> None:
    """Pass an answer that has a shape that was promised for it; of a refusal, one that tells nothing back."""
    assert re.fullmatch(r"[0-9a-f-]{14,40}", reply.headers["x-request-id"])
    assert reply.headers["cache-control"] == "no-store"
    if reply.status >= 400 and not _is_readiness(path, reply):
        require_problem(reply)
        require_silence(path, headers, body, reply)
        return
    operation = _operation_of(method, path)
    assert reply.status in operation.gives, (operation.name, reply.status)
    shape = operation.gives[reply.status]
    if method == "HEAD":
        assert reply.body == b""
    elif shape is not None:
        assert reply.headers["content-type"] == "application/json"
        _require_shape(reply.json, shape)


def require_problem(reply: Reply) -> None:
    """Pass a problem document with nothing in it but what was promised."""
    assert reply.is_problem, reply
    problem = reply.json
    _require_shape(problem, bodies.Problem)
    assert problem["status"] == reply.status == STATUS[problem["code"]]
    assert problem["title"] == TITLES[problem["code"]]
    assert problem["type"] == type_of(problem["code"])
    assert ("retry-after" in reply.headers) == (reply.status in {429, 503})
    assert ("www-authenticate" in reply.headers) == (reply.status == 401)
    assert ("allow" in reply.headers) == (reply.status == 405)


def require_silence(path: str, headers: Mapping[str, str], body: bytes, reply: Reply) -> None:
    """Pass an answer that repeats no text of the request: no credential, no payload, no member's name of its own.

    A place is told as a JSON Pointer, which names members of an answer or a schema.
    """
    problem = reply.json
    places = [issue.pop("path") for issue in problem.get("issues", [])]
    told = json.dumps([problem, dict(reply.headers)], ensure_ascii=False)
    said = {text for text in _texts_of(path, headers, body) if len(text) >= SECRET_CHARACTERS} - _WORDS
    assert [text for text in said if text in told] == []
    values = {text for text in _values_of(body) if len(text) >= SECRET_CHARACTERS}
    assert [text for text in values if any(text in place for place in places)] == []


def _is_readiness(path: str, reply: Reply) -> bool:
    return path == "/readyz" and reply.status == 503 and not reply.is_problem


def _require_shape(value: Any, shape: Any) -> None:
    """Pass a value that has the shape, and no member that the shape has not."""
    assert msgspec.to_builtins(msgspec.convert(value, shape, strict=True)) == value


def _operation_of(method: str, path: str) -> Operation:
    bare = path.partition("?")[0]
    for operation in OPERATIONS:
        template = re.sub(r"\\\{[a-z]+\\\}", "[^/]+", re.escape(operation.path))
        if operation.method == method.replace("HEAD", "GET") and re.fullmatch(template, bare):
            return operation
    raise AssertionError(path)


def _texts_of(path: str, headers: Mapping[str, str], body: bytes) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() in {"authorization", "x-api-key", "idempotency-key", "content-type"}:
            yield value
            yield from value.split(" ")
    yield from set(path.partition("?")[2].replace("=", "&").split("&")) - _PARAMETERS
    yield from _values_of(body)
    yield from _names_of(body)


def _values_of(body: bytes) -> Iterator[str]:
    """Yield every text of a body that is no member's name; of one that is no JSON all of it."""
    for found in _parts_of(body):
        if isinstance(found, str):
            yield found


def _names_of(body: bytes) -> Iterator[str]:
    """Yield every name of a member that is none of the contract's."""
    for found in _parts_of(body):
        if isinstance(found, dict):
            yield from (name for name in found if name not in _MEMBERS)


def _parts_of(body: bytes) -> Iterator[Any]:
    """Yield a JSON value and all that is in it."""
    try:
        waiting = [json.loads(body)]
    except (ValueError, RecursionError):
        waiting = [body.decode("latin-1")]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, dict):
            waiting += found.values()


def _members_of(shape: Any) -> Iterator[str]:
    yield from (field.encode_name for field in msgspec.structs.fields(shape))


_PARAMETERS: Final = {parameter.name for operation in OPERATIONS for parameter in operation.parameters}
_MEMBERS: Final = frozenset(
    name
    for shape in vars(bodies).values()
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct) and shape is not msgspec.Struct
    for name in _members_of(shape)
)
