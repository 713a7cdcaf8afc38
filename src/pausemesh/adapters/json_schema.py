"""JSON Schema 2020-12 behind the SchemaValidator port, with jsonschema-rs.

``core.response_schema`` bounds what a schema can make the library do, ``json_schema_judge`` what it
may reach and build, and ``json_schema_failures`` finds the failing places within a bound.
"""

from typing import Final

import jsonschema_rs

from pausemesh.adapters.json_schema_failures import FailureSearch
from pausemesh.adapters.json_schema_judge import judge
from pausemesh.core.canonical import pointer
from pausemesh.core.errors import SchemaNotAllowed
from pausemesh.core.issue import Issue
from pausemesh.core.response_schema import NOT_A_SCHEMA, PATTERN_NOT_ALLOWED, AllowedSchema, allow_response_schema
from pausemesh.core.values import JsonValue

_MESSAGES: Final = {
    NOT_A_SCHEMA: "must be JSON Schema 2020-12",
    PATTERN_NOT_ALLOWED: "must be a regular expression of moderate size",
}


class JsonSchemaValidator:
    """Compiles response schemas; ``format`` and the content keywords are annotations."""

    def compile(self, schema: JsonValue) -> "CompiledJsonSchema":
        """Check that ``schema`` is allowed and prepare it.

        Raises:
            SchemaNotAllowed: with JSON Pointers into the schema and the reasons of
                ``core.response_schema``.
        """
        allowed = allow_response_schema(schema)
        try:
            return CompiledJsonSchema(allowed)
        except jsonschema_rs.ValidationError as error:
            steps = error.instance_path
        is_pattern = steps[-1:] == ["pattern"] or steps[-2:-1] == ["patternProperties"]
        reason = PATTERN_NOT_ALLOWED if is_pattern else NOT_A_SCHEMA
        raise SchemaNotAllowed(issues=[Issue(pointer(*steps), reason, _MESSAGES[reason])])


class CompiledJsonSchema:
    """A response schema that judges answers; it never changes, so threads may share it."""

    def __init__(self, allowed: AllowedSchema) -> None:
        self._allowed = allowed
        self._judge = judge(allowed.schema)

    def issues(self, answer: JsonValue) -> tuple[Issue, ...]:
        """Return the places where ``answer`` fails, at most 20, in no value's words; none: it is valid.

        Each has the JSON Pointer of the place in the answer (of a missing member: where it should
        be) and as its reason the keyword that fails there. Alternatives (``anyOf``, ``oneOf``,
        ``not``, ``contains``) fail as a whole. Where it would take too long to find the places, one
        around them is named, with the keyword that leads to it or, for the whole answer, ``schema``.
        """
        if self._judge.is_valid(answer):
            return ()
        return FailureSearch(self._allowed).issues(answer)
