"""Answering one question: with what a script gives, or with what a person types after having seen it whole."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.text import Text

from pausemesh.cli.dialogue import Dialogue, Word, ask_to_send
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.form import failing
from pausemesh.cli.plain_text import plain
from pausemesh.cli.question_words import action_of, question_of
from pausemesh.cli.questions import PENDING, JsonObject, Questions, object_in, text_in
from pausemesh.cli.refusal import Problem, Refused, refused
from pausemesh.cli.settling import settle
from pausemesh.cli.sheet import question_sheet
from pausemesh.core.continuation import require_answerable_by_operator
from pausemesh.core.document import STORED_LIMITS, Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.errors import (
    ContinuationCancelled,
    ContinuationExpired,
    DigestMismatch,
    Forbidden,
    InvalidRequest,
    PauseMeshError,
    TokenAlreadyUsed,
)
from pausemesh.core.question import is_yes, shown_digest
from pausemesh.core.values import JsonValue, time_from_text

_CORRECTED: Final = "ANSWER_INVALID"
_INTERRUPTED: Final[Problem] = {"title": "Interrupted while the answer was sent.", "code": "OUTCOME_UNKNOWN"}


class Answering:
    """One question as it was found, and the answer on its way to it under one idempotency key."""

    def __init__(
        self,
        questions: Questions,
        continuation: JsonObject,
        key: str,
        *,
        typed: Callable[[str], str] = input,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._questions = questions
        self._continuation = continuation
        self._key = key
        self._typed = typed
        self._pause = pause

    @property
    def id(self) -> str:
        """The question's id, as it was found."""
        return text_in(self._continuation, "continuationId")

    def show(self, console: Console) -> None:
        """Show the question and its action, whole."""
        history = self._questions.history(self.id)
        console.print(question_sheet(self._continuation, history, datetime.now(UTC)))

    def send(self, payload: JsonValue, digest: str | None = None) -> JsonObject:
        """Send an answer to what was found, and return ``{continuation, replayed}``.

        Raises:
            Refused: it does not count; or it is not known whether it does, and the text says how to find out.
        """
        seen = digest or self._digest()

        def request() -> JsonObject:
            return self._questions.answer(self.id, idempotency_key=self._key, payload=payload, shown_digest=seen)

        try:
            return settle(request, pause=self._pause)
        except KeyboardInterrupt:
            raise self._unknown(_INTERRUPTED) from None
        except Refused as refusal:
            if refusal.exit is Exit.UNKNOWN:
                raise self._unknown(refusal.problem) from None
            raise

    def ask(self, console: Console, *, confirmed: bool) -> JsonObject | None:
        """Show the question, ask for an answer until it is accepted, and return the outcome; None: not confirmed.

        Raises:
            Refused: it cannot be answered, or was decided meanwhile.
            EOFError: the person has had enough.
        """
        self._require_open()
        self.show(console)
        dialogue = Dialogue(console, _schema_of(self._continuation), typed=self._typed)
        wanted = dialogue.fields
        while True:
            dialogue.ask(wanted)
            if not confirmed and not dialogue.confirm(self._warning):
                return None
            try:
                return self.send(dialogue.answer)
            except Refused as refusal:
                if refusal.code != _CORRECTED:
                    raise
                console.print(_wrong(refusal))
                wanted = failing(dialogue.fields, [path for path, _ in refusal.issues])

    def confirm(self, console: Console, payload: JsonValue) -> bool:
        """Show the question and an answer that was given, and ask whether it is to be sent."""
        self.show(console)
        return ask_to_send(console, payload, self._warning(payload), typed=self._typed) is Word.YES

    def _require_open(self) -> None:
        """Refuse before anything is typed what cannot be answered here."""
        ways = self._continuation.get("answerableBy")
        try:
            require_answerable_by_operator(ways if isinstance(ways, list) else [AnswerableBy.OPERATOR])
        except Forbidden as error:
            raise refused(error) from None
        status = text_in(self._continuation, "status")
        if status == PENDING:
            return
        refusals: dict[str, PauseMeshError] = {
            "resumed": TokenAlreadyUsed(),
            "cancelled": ContinuationCancelled(),
            "expired": ContinuationExpired(expires_at=None),
        }
        raise refused(refusals.get(status, InvalidRequest(f"The question is {status}.")))

    def _digest(self) -> str:
        """Return the digest of what was shown, computed here from what was shown."""
        expires_at = text_in(self._continuation, "expiresAt")
        try:
            payload = Document.of(self._continuation.get("payload"), STORED_LIMITS)
            return shown_digest(self.id, payload, time_from_text(expires_at) if expires_at else None)
        except (ValueError, PauseMeshError):
            raise refused(DigestMismatch("What the server showed has no digest.")) from None

    def _warning(self, answer: JsonValue) -> str | None:
        action = action_of(self._continuation)
        if action is None:
            return None
        name = plain(text_in(action, "name"))
        if is_yes(answer):
            return f"This approves {name} with exactly the arguments above."
        return f"This does not approve {name}."

    def _unknown(self, problem: Problem) -> Refused:
        detail = f"The same command with --idempotency-key {self._key} settles what was recorded."
        return Refused({**problem, "detail": detail, "idempotencyKey": self._key})


def _schema_of(continuation: JsonObject) -> JsonValue:
    """Return the schema of the answer; None where any JSON will do.

    Raises:
        Refused: the payload is none that this release can read.
    """
    try:
        schema = question_of(continuation).response_schema
    except PauseMeshError as error:
        raise refused(error) from None
    return None if schema is None else schema.value


def _wrong(refusal: Refused) -> Text:
    lines = [f"{plain(path) or 'the answer'}: {plain(message)}" for path, message in refusal.issues]
    return Text("\n".join(["", "The answer does not match; please correct it.", *lines]), style="yellow")


def outcome_line(outcome: JsonObject) -> Text:
    """Return what to tell a person of an answer that counts."""
    continuation = object_in(outcome, "continuation")
    at = plain(text_in(continuation, "resumedAt"))
    words = "It was recorded before" if outcome.get("replayed") is True else "Recorded"
    return Text(f"{words}, at {at}.", style="green", overflow="fold")
