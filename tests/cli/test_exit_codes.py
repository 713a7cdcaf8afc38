"""Every refusal has an exit code, and help and page say the same of it."""

import pytest

import pausemesh
from pausemesh.cli.exit_codes import MEANINGS, Exit, exit_codes_help, exit_of
from pausemesh.core import errors
from pausemesh.core.errors import PauseMeshError
from pausemesh.server.problems import STATUS


def test_every_error_of_the_library_has_an_exit_code_of_its_own_accord() -> None:
    known = {code for meaning in MEANINGS.values() for code in meaning.errors}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PauseMeshError)]
    assert {kind.code for kind in kinds} <= known
    assert len(known) == sum(len(meaning.errors) for meaning in MEANINGS.values())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (pausemesh.InvalidRequest, 1),
        (pausemesh.ContinuationNotFound, 3),
        (pausemesh.ApiKeyNotFound, 3),
        (pausemesh.TokenAlreadyUsed, 4),
        (pausemesh.ContinuationExpired, 4),
        (pausemesh.DigestMismatch, 4),
        (pausemesh.IdempotencyConflict, 4),
        (pausemesh.AnswerInvalid, 5),
        (pausemesh.Forbidden, 6),
        (pausemesh.TokenMismatch, 6),
        (pausemesh.StoreUnavailable, 7),
        (pausemesh.SchemaNewer, 7),
        (pausemesh.OutcomeUnknown, 8),
    ],
)
def test_kinds_of_refusals_are_told_apart(error: type[PauseMeshError], code: int) -> None:
    assert exit_of(error.code) == code


def test_a_servers_own_codes_end_as_their_status_says() -> None:
    wanted = {
        Exit.USAGE: {400, 405, 408, 413, 414, 415, 421, 422, 431},
        Exit.NOT_FOUND: {404},
        Exit.CONFLICT: {409, 410, 422},
        Exit.INVALID_ANSWER: {422},
        Exit.REFUSED: {401, 403},
        Exit.UNAVAILABLE: {429, 500, 503, 507},
        Exit.UNKNOWN: {503},
    }
    ends = {(exit_of(code, status), status) for code, status in STATUS.items()}
    assert ends == {(exit_code, status) for exit_code, statuses in wanted.items() for status in statuses}


@pytest.mark.parametrize(
    ("status", "code"), [(None, 1), (400, 1), (401, 6), (404, 3), (410, 4), (422, 5), (429, 7), (500, 7), (599, 7)]
)
def test_a_code_of_a_newer_server_ends_as_its_status_says(status: int | None, code: int) -> None:
    assert exit_of("BRAND_NEW", status) == code


def test_help_shows_the_whole_table_in_80_columns() -> None:
    lines = exit_codes_help().splitlines()
    assert [int(line.split()[0]) for line in lines[2:]] == [*Exit]
    assert max(map(len, lines)) <= 80
