"""A request is sent again under its key until its outcome is known, or for as long as makes sense."""

from collections.abc import Callable

import pytest

import pausemesh
from pausemesh.cli.refusal import Refused, refused
from pausemesh.cli.settling import TRIES, settle
from pausemesh.core.errors import PauseMeshError

BUSY = Refused({"code": "RATE_LIMITED", "status": 429}, retry_seconds=3)


def replies(*outcomes: Exception | str) -> tuple[Callable[[], str], list[float], Callable[[float], None]]:
    """A request with these outcomes one after the other, and what is paused in between."""
    left, pauses = [*outcomes], list[float]()

    def request() -> str:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return request, pauses, pauses.append


@pytest.mark.parametrize("error", [pausemesh.StoreUnavailable(), pausemesh.Overloaded(), pausemesh.OutcomeUnknown()])
def test_what_may_work_next_time_is_tried_again(error: PauseMeshError) -> None:
    request, pauses, pause = replies(error, error, "done")
    assert settle(request, pause=pause) == "done"
    assert pauses == [0.2, 0.4]


def test_a_server_says_when_to_come_again_and_is_not_waited_for_forever() -> None:
    late = Refused({"code": "STORE_UNAVAILABLE", "status": 503}, retry_seconds=100_000)
    request, pauses, pause = replies(BUSY, late, "done")
    assert settle(request, pause=pause) == "done"
    assert pauses == [3, 5]


@pytest.mark.parametrize("error", [pausemesh.TokenAlreadyUsed(), pausemesh.StoreFull(), pausemesh.AnswerInvalid()])
def test_what_was_refused_for_good_is_not_tried_again(error: PauseMeshError) -> None:
    request, pauses, pause = replies(error)
    with pytest.raises(Refused) as refusal:
        settle(request, pause=pause)
    assert (refusal.value.code, pauses) == (error.code, [])


def test_after_some_tries_it_is_unavailable() -> None:
    request, pauses, pause = replies(pausemesh.StoreUnavailable())
    with pytest.raises(Refused) as refusal:
        settle(request, pause=pause)
    assert (refusal.value.code, len(pauses)) == ("STORE_UNAVAILABLE", TRIES - 1)


def test_one_try_that_may_have_counted_leaves_the_outcome_unknown() -> None:
    request, _, pause = replies(pausemesh.StoreUnavailable(), pausemesh.OutcomeUnknown(), pausemesh.StoreUnavailable())
    with pytest.raises(Refused) as refusal:
        settle(request, pause=pause)
    assert refusal.value.code == "OUTCOME_UNKNOWN"


def test_a_refusal_for_good_after_a_doubt_settles_it() -> None:
    request, _, pause = replies(pausemesh.OutcomeUnknown(), refused(pausemesh.TokenAlreadyUsed()))
    with pytest.raises(Refused) as refusal:
        settle(request, pause=pause)
    assert refusal.value.code == "TOKEN_ALREADY_USED"
