"""A refusal is one harmless line, or the problem document, wherever it comes from."""

from datetime import UTC, datetime

import pytest

import pausemesh
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.plain_text import is_dangerous
from pausemesh.cli.refusal import Refused, refused
from pausemesh.core.values import JsonValue

AT = datetime(2030, 1, 1, tzinfo=UTC)
RECORDED = pausemesh.RecordedOutcome(status="resumed", version=2, decided_at=AT)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            pausemesh.TokenAlreadyUsed(recorded=RECORDED),
            "The question was answered already. It was resumed at 2030-01-01T00:00:00.000Z. [TOKEN_ALREADY_USED]",
        ),
        (
            pausemesh.InvalidRequest(issues=[pausemesh.Issue("/flight", "enum", "is none of them")]),
            "The request is not well formed. /flight: is none of them. [INVALID_REQUEST]",
        ),
        (
            pausemesh.StoreCorrupt("Version 2 of a stream is missing."),
            "Stored events contradict each other or cannot be read. Version 2 of a stream is missing. [STORE_CORRUPT]",
        ),
    ],
)
def test_an_error_of_the_library_is_one_line(error: pausemesh.PauseMeshError, line: str) -> None:
    assert str(refused(error)) == line


def test_here_nothing_of_the_inside_is_hidden() -> None:
    refusal = refused(pausemesh.SchemaNewer("It has migration 9."))
    assert refusal.problem["code"] == "SCHEMA_NEWER"
    assert refusal.problem["detail"] == "It has migration 9."
    assert refusal.exit is Exit.UNAVAILABLE
    assert "detail" not in refused(pausemesh.SchemaNewer()).problem


def test_a_servers_words_cannot_act_on_a_terminal() -> None:
    evil = "\x1b[2J\n\u202e"
    issue: JsonValue = {"path": evil, "message": evil}
    problem: dict[str, JsonValue] = {
        "code": evil,
        "title": evil,
        "detail": evil,
        "issues": [issue, 5],
        "recorded": {"status": evil},
    }
    line = str(Refused(problem))
    assert not [character for character in line if is_dangerous(character)]


@pytest.mark.parametrize("problem", [{}, {"code": 5, "title": [], "issues": "x", "recorded": 1, "status": "x"}])
def test_whatever_a_server_says_is_a_refusal(problem: dict[str, object]) -> None:
    refusal = Refused(problem)  # type: ignore[arg-type]
    assert (refusal.code, refusal.issues, str(refusal), refusal.exit) == ("", (), "[]", Exit.USAGE)


def test_a_text_stands_for_the_whole_answer_where_no_member_is_named() -> None:
    assert "(the whole): must be" in str(
        refused(pausemesh.AnswerInvalid(issues=[pausemesh.Issue("", "type", "must be another")]))
    )
