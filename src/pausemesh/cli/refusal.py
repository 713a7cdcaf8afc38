"""Why a command cannot do what it was asked, wherever it was refused: a problem document and an exit code."""

from collections.abc import Mapping
from typing import Final

from pausemesh.cli.exit_codes import Exit, exit_of
from pausemesh.cli.plain_text import plain
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.values import JsonValue
from pausemesh.server.problems import problem_of, type_of

Problem = Mapping[str, JsonValue]

_ISSUES_SHOWN: Final = 20


class Refused(Exception):
    """A refusal; every text in ``problem`` may come from a server, and is not fit for a terminal as it is.

    Attributes:
        problem: the problem document (RFC 9457).
        retry_seconds: when the server says that the same request may come again.
    """

    def __init__(self, problem: Problem, *, retry_seconds: float | None = None) -> None:
        self.problem = problem
        self.retry_seconds = retry_seconds
        super().__init__(self.code)

    @property
    def code(self) -> str:
        """The stable code, such as CONTINUATION_NOT_FOUND."""
        return _text(self.problem.get("code"))

    @property
    def exit(self) -> Exit:
        """How the command ends on it."""
        status = self.problem.get("status")
        return exit_of(self.code, status if isinstance(status, int) else None)

    @property
    def issues(self) -> tuple[tuple[str, str], ...]:
        """The failing places: a JSON Pointer and a sentence each."""
        issues = self.problem.get("issues")
        found = [issue for issue in issues if isinstance(issue, dict)] if isinstance(issues, list) else []
        return tuple((_text(issue.get("path")), _text(issue.get("message"))) for issue in found[:_ISSUES_SHOWN])

    def __str__(self) -> str:
        """Return one line that can be shown."""
        parts = [_text(self.problem.get("title")), _text(self.problem.get("detail")), self._recorded()]
        parts += [f"{path or '(the whole)'}: {message}." for path, message in self.issues]
        return plain(" ".join([*filter(None, parts), f"[{self.code}]"]))

    def _recorded(self) -> str:
        recorded = self.problem.get("recorded")
        if isinstance(recorded, dict):
            return f"It was {_text(recorded.get('status'))} at {_text(recorded.get('decidedAt'))}."
        return ""


def refused(error: PauseMeshError) -> Refused:
    """Return a refusal of the library as a server would tell it; here nothing of the inside needs to be hidden."""
    problem = problem_of(error)
    if problem["code"] == error.code:
        return Refused(problem)
    title = (type(error).__doc__ or "").partition("\n")[0]
    detail = {} if error.detail is None else {"detail": error.detail}
    return Refused({"type": type_of(error.code), "title": title, "code": error.code, **detail})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
