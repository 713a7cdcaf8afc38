"""A stream is found by what its events say, whether or not their time is known yet."""

from datetime import timedelta

import pytest

from pausemesh.core.continuation import evolve, replay
from pausemesh.core.continuation_events import Cancelled, Created, Event, Expired, Resumed, TokenReissued
from pausemesh.core.document import Document
from pausemesh.core.envelope import AnswerableBy
from pausemesh.core.principal import BY_SYSTEM, BY_TOKEN
from pausemesh.service.nouns import continuation_head, continuation_head_after
from pausemesh.testing.given import START, stamp

CREATED = Created(
    id="q_1",
    correlation_id="trip-42",
    payload=Document.of("?"),
    metadata=Document.of({}),
    shown_digest="",
    expires_at=START + timedelta(days=7),
    answerable_by=(AnswerableBy.TOKEN,),
    by=BY_SYSTEM,
    token_hash=b"h" * 32,
    queue="bookings",
    owner="task:1",
)
LATER: tuple[Event, ...] = (
    Resumed(by=BY_TOKEN, idempotency_key="k", payload=Document.of("!")),
    Cancelled(by=BY_SYSTEM),
    Expired(),
    TokenReissued(token_hash=b"o" * 32, by=BY_SYSTEM),
)


def test_a_new_question_is_found_by_the_head_that_replaying_it_gives() -> None:
    assert continuation_head_after(None, CREATED) == continuation_head(replay(stamp([CREATED])))


@pytest.mark.parametrize("event", LATER, ids=lambda event: type(event).__name__)
def test_a_question_is_found_after_an_event_by_the_head_that_replaying_it_gives(event: Event) -> None:
    first, second = stamp([CREATED, event])
    state = evolve(None, first)
    assert continuation_head_after(state, event) == continuation_head(evolve(state, second))
