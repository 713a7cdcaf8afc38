"""Compiles JSON Schema 2020-12 with jsonschema-rs, so that it fetches nothing and no pattern gets large."""

from typing import Final, NoReturn

import jsonschema_rs

from pausemesh.core import limits
from pausemesh.core.values import JsonValue

_PATTERNS: Final = jsonschema_rs.RegexOptions(
    size_limit=limits.SCHEMA_PATTERN_BYTES, dfa_size_limit=limits.SCHEMA_PATTERN_BYTES
)


def judge(schema: JsonValue, registry: jsonschema_rs.Registry | None = None) -> jsonschema_rs.Validator:
    """Compile a schema; its references lead into itself or into what is registered.

    Raises:
        jsonschema_rs.ValidationError: it is no schema, or has a pattern or reference that is refused.
    """
    assert isinstance(schema, dict | bool)
    return jsonschema_rs.Draft202012Validator(schema, retriever=_deny, registry=registry, pattern_options=_PATTERNS)


def register(address: str, schema: JsonValue) -> jsonschema_rs.Registry:
    """Make a schema, and what is in it, something that others can refer to."""
    return jsonschema_rs.Registry([(address, schema)], retriever=_deny)


def _deny(uri: str, /) -> NoReturn:
    """Fetch nothing: by default the library would open addresses and files."""
    raise PermissionError(uri)
