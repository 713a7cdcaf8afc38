"""Whether an answer is what the question asked for."""

from collections import OrderedDict
from typing import Final

from pausemesh.core.document import Document
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import AnswerInvalid
from pausemesh.core.question import Question
from pausemesh.core.values import JsonValue
from pausemesh.ports import CompiledSchema, SchemaValidator

_COMPILED_SCHEMAS: Final = 512


class AnswerChecks:
    """Compiles the schemas of questions once, and judges answers by them."""

    def __init__(self, validator: SchemaValidator) -> None:
        self._validator = validator
        self._compiled: OrderedDict[str, CompiledSchema] = OrderedDict()

    def require_allowed(self, question: Question) -> None:
        """Pass a question whose response schema, where it has one, can be checked safely.

        Raises:
            SchemaNotAllowed: it cannot.
        """
        if question.has_response_schema:
            self._compile(question.response_schema)

    def require_valid(self, continuation: Continuation, answer: Document) -> None:
        """Pass an answer that the question's response schema, where it has one, allows.

        Raises:
            AnswerInvalid: with the failing places; nothing is consumed.
        """
        question = continuation.question
        if not question.has_response_schema:
            return
        issues = self._compile(question.response_schema).issues(answer.value)
        if issues:
            raise AnswerInvalid(issues=issues)

    def _compile(self, schema: JsonValue) -> CompiledSchema:
        digest = Document.of(schema).digest
        compiled = self._compiled.get(digest)
        if compiled is None:
            compiled = self._compiled[digest] = self._validator.compile(schema)
            if len(self._compiled) > _COMPILED_SCHEMAS:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(digest)
        return compiled
