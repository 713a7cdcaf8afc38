"""The parsers that read what strangers send, each with what it must never do."""

import dataclasses
from collections.abc import Callable
from typing import Final

from pausemesh.adapters.json_schema import JsonSchemaValidator
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.cursor import read_cursor, write_cursor
from pausemesh.core.errors import (
    IdempotencyKeyInvalid,
    InvalidCursor,
    InvalidJson,
    InvalidRequest,
    PayloadTooLarge,
    SchemaNotAllowed,
)
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue
from pausemesh.server.app import OPERATIONS
from pausemesh.server.body import limits_of_body, parse_body
from pausemesh.server.errors import CredentialInUrl, HeadersTooLarge
from pausemesh.server.headers import idempotency_key_in, read_headers
from pausemesh.server.query import read_query, refuse_credentials
from pausemesh.service.requests import idempotency_key_of
from proofs.fuzz import seeds
from proofs.fuzz.connection import same_whatever_cuts

_LIMITS: Final = JsonLimits()
_BODY_LIMITS: Final = limits_of_body(_LIMITS)
_KEYS: Final = (b"k" * 32,)
_LISTING: Final[JsonValue] = ["default", "pending", None]
_SHAPES: Final = [operation.takes for operation in OPERATIONS if operation.takes is not None]
_PARAMETERS: Final = [operation.parameters for operation in OPERATIONS if operation.parameters]


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """One parser.

    Attributes:
        attempt: reads some bytes; whatever it raises is a fault, and so is a long time.
        seeds: inputs to begin with.
    """

    attempt: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def attempt_json(data: bytes) -> None:
    """What is read can be kept: its canonical form is read as the same."""
    try:
        value = read_json(data, _LIMITS)
    except (InvalidJson, PayloadTooLarge):
        return
    kept = canonical_bytes(value, JsonLimits(max_bytes=16 * _LIMITS.max_bytes))
    if len(kept) <= _LIMITS.max_bytes:
        assert canonical_bytes(read_json(kept, _LIMITS)) == kept


def attempt_headers(data: bytes) -> None:
    """A key that is taken is text that can be kept, and is taken again as it is."""
    version, *lines = data.split(b"\n")
    pairs = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines)]
    try:
        headers = read_headers(pairs, http_version="1.0" if version.endswith(b"0") else "1.1")
        key = idempotency_key_in(headers)
        if key is not None:
            own = idempotency_key_of(key)
            assert own == idempotency_key_of(own)
    except (InvalidRequest, HeadersTooLarge, IdempotencyKeyInvalid):
        return


def attempt_query(data: bytes) -> None:
    """Whatever a query holds, each operation reads it or refuses it."""
    path, _, query = data.partition(b"?")
    for known in _PARAMETERS:
        try:
            refuse_credentials(path.decode("latin-1"), query)
            found = read_query(query, known)
        except (InvalidRequest, CredentialInUrl):
            continue
        assert found.keys() <= {parameter.name for parameter in known}


def attempt_body(data: bytes) -> None:
    """Whatever a body holds, each operation reads it or refuses it, and says where in JSON Pointers."""
    for shape in _SHAPES:
        try:
            parse_body(data, {b"content-type": b"application/json"}, shape, _BODY_LIMITS)
        except PayloadTooLarge:
            continue
        except InvalidRequest as error:
            places = [issue.path for issue in error.issues]
        else:
            continue
        assert places, "a refusal says where"
        assert all(place == "" or place.startswith("/") for place in places), places


def attempt_cursor(data: bytes) -> None:
    """Only what was written is read: every other text is refused."""
    try:
        position = read_cursor(_KEYS, _LISTING, data.decode("latin-1"))
    except InvalidCursor:
        return
    assert write_cursor(_KEYS, _LISTING, position).encode() == data


def attempt_schema(data: bytes) -> None:
    """A schema that is allowed judges any answer."""
    schema, _, answer = data.partition(b"\0")
    try:
        compiled = JsonSchemaValidator().compile(read_json(schema, _LIMITS))
        issues = compiled.issues(read_json(answer or b"null", _LIMITS))
    except (InvalidJson, PayloadTooLarge, SchemaNotAllowed):
        return
    assert len(issues) <= 20


TARGETS: Final[dict[str, Target]] = {
    "json": Target(attempt_json, seeds.JSON),
    "connection": Target(same_whatever_cuts, seeds.CONNECTIONS),
    "headers": Target(attempt_headers, seeds.HEADERS),
    "query": Target(attempt_query, seeds.QUERIES),
    "body": Target(attempt_body, (*seeds.BODIES, *seeds.JSON)),
    "cursor": Target(attempt_cursor, (write_cursor(_KEYS, _LISTING, [1, "q_1"]).encode(), b"", b"AAAA")),
    "schema": Target(attempt_schema, seeds.SCHEMAS),
}
