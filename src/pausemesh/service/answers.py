"""Whether an answer is what the question asked for."""

from collections import OrderedDict

from pausemesh.core import limits
from pausemesh.core.document import Document
from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import AnswerInvalid
from pausemesh.core.question import Question
from pausemesh.ports import CompiledSchema, SchemaValidator


class AnswerChecks:
    """Compiles the schemas of questions once, and judges answers by them."""

    def __init__(self, validator: SchemaValidator) -> None:
        self._validator = validator
        self._compiled: OrderedDict[Document, CompiledSchema] = OrderedDict()

    def require_allowed(self, question: Question) -> None:
        """Pass a question whose response schema, where it has one, can be checked safely.

        Raises:
            SchemaNotAllowed: it cannot.
        """
        if question.response_schema is not None:
            self._compile(question.response_schema)

    def require_valid(self, continuation: Continuation, answer: Document) -> None:
        """Pass an answer that the question's response schema, where it has one, allows.

        Raises:
            AnswerInvalid: with the failing places; nothing is consumed.
        """
        schema = continuation.question.response_schema
        if schema is None:
            return
        issues = self._compile(schema).issues(answer.value)
        if issues:
            raise AnswerInvalid(issues=issues)

    def _compile(self, schema: Document) -> CompiledSchema:
        compiled = self._compiled.get(schema)
        if compiled is None:
            compiled = self._compiled[schema] = self._validator.compile(schema.value)
            if len(self._compiled) > limits.COMPILED_SCHEMAS:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(schema)
        return compiled
