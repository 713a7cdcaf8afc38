"""Asking a person for an answer on a terminal, field by field, until it is confirmed."""

import contextlib
import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from pausemesh.cli.form import (
    LEAVE_OUT,
    Choice,
    Field,
    Kind,
    Left,
    NotUnderstood,
    Value,
    assembled,
    choice_word,
    fields_of,
    read,
)
from pausemesh.cli.plain_text import plain, plain_json
from pausemesh.cli.terminal import Quoted, quoted_json, section
from pausemesh.core.values import JsonValue

with contextlib.suppress(ImportError):
    import readline  # noqa: F401 - gives input() a line to edit

_PROMPT: Final = "> "


class Word(enum.Enum):
    """What a person says to an answer that is shown."""

    YES = "yes"
    NO = "no"
    EDIT = "edit"


def ask_to_send(
    console: Console,
    answer: JsonValue,
    warning: str | None,
    *,
    may_edit: bool = False,
    typed: Callable[[str], str] = input,
) -> Word:
    """Show an answer and ask whether it is to be sent; nothing typed is a no."""
    console.print(section("Your answer", quoted_json(answer)))
    if warning is not None:
        console.print(Text.assemble("\n", (warning, "bold yellow"), overflow="fold"))
    words = [word for word in Word if may_edit or word is not Word.EDIT]
    question = f"Send it? {', '.join(word.value for word in words)} [no] "
    while True:
        said = typed(question).strip().lower()
        for word in words:
            if said in {word.value, word.value[0]}:
                return word
        if not said:
            return Word.NO


class Dialogue:
    """Asks for one answer; it remembers what was typed, so that only what is wrong is typed again.

    Raises:
        EOFError: the person has had enough.
    """

    def __init__(self, console: Console, schema: JsonValue, *, typed: Callable[[str], str] = input) -> None:
        self._console = console
        self._typed = typed
        self._fields = fields_of(schema)
        self._values: dict[str | None, Value] = {}

    @property
    def answer(self) -> JsonValue:
        """What was typed so far."""
        return assembled(self._fields, self._values)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Everything that can be asked for."""
        return self._fields

    def ask(self, fields: Sequence[Field]) -> None:
        """Ask for these fields; what was typed before is the default now."""
        for field in fields:
            before = self._values.get(field.name, Left.OUT)
            proposed = field if isinstance(before, Left) else dataclasses.replace(field, default=before)
            self._values[field.name] = self._ask_one(proposed)

    def confirm(self, warning: Callable[[JsonValue], str | None]) -> bool:
        """Show the answer and ask whether it is to be sent; where it is to be edited, ask for all fields again."""
        while True:
            match ask_to_send(self._console, self.answer, warning(self.answer), may_edit=True, typed=self._typed):
                case Word.YES:
                    return True
                case Word.NO:
                    return False
                case Word.EDIT:
                    self.ask(self._fields)

    def _ask_one(self, field: Field) -> Value:
        self._introduce(field)
        while True:
            try:
                return read(field, self._typed(_PROMPT))
            except NotUnderstood as wanted:
                self._console.print(Text(str(wanted), style="yellow"))

    def _introduce(self, field: Field) -> None:
        name = "answer" if field.name is None else plain(field.name)
        title = "" if field.title is None or field.title == field.name else f" ({plain(field.title)})"
        self._console.print()
        self._console.print(Text.assemble((name, "bold"), title, (f"  {_wanted(field)}", "dim"), overflow="fold"))
        if field.description is not None:
            self._console.print(Quoted([plain(field.description)]))
        if field.kind is Kind.CHOICE:
            self._console.print(Quoted(_choices(field)))
        if not isinstance(field.default, Left):
            more = f"; {LEAVE_OUT} leaves it out" if field.may_be_left_out else ""
            self._console.print(Text(f"Enter takes {plain_json(field.default, indent=None)}{more}.", overflow="fold"))
        elif not field.required:
            self._console.print(Text("Enter leaves it out.", style="dim"))


def _wanted(field: Field) -> str:
    bounds = [f"{keyword} {plain_json(value, indent=None)}" for keyword, value in field.bounds]
    null = ["or null"] if field.nullable else []
    return ", ".join([field.kind.value, *null, *bounds, *([] if field.required else ["optional"])])


def _choices(field: Field) -> list[str]:
    choices = enumerate(field.choices, start=1)
    return [f"{number}) {_choice(one)}" if field.is_numbered else _choice(one) for number, one in choices]


def _choice(choice: Choice) -> str:
    word = plain(choice_word(choice.value)) if isinstance(choice.value, str) else choice_word(choice.value)
    return word if choice.title is None else f"{word}  {plain(choice.title)}"
