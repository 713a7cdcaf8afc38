"""Asking: what a question is created with, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

import pausemesh
from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, BOT, EYE, POST, STRANGER

DAY = timedelta(days=1)


async def test_a_new_question_is_pending_and_keeps_what_it_was_given(mesh: Mesh, clock: ManualClock) -> None:
    payload: JsonValue = {"message": "Which flight?", "odd": [None, 1.5, "\u00e9\U0001f600"]}
    metadata: dict[str, JsonValue] = {"team": "travel"}
    created = await mesh.create(payload=payload, correlation_id="trip-42", metadata=metadata, expires_in=DAY)
    payload["odd"] = metadata["team"] = "changed"  # type: ignore[call-overload, index]
    seen = await mesh.inspect(created.continuation.id)
    assert seen == created.continuation
    assert (seen.status, seen.version, seen.correlation_id) == ("pending", 1, "trip-42")
    assert seen.payload == {"message": "Which flight?", "odd": [None, 1.5, "\u00e9\U0001f600"]}
    assert seen.metadata == {"team": "travel"}
    assert (seen.created_at, seen.expires_at) == (clock.now(), clock.now() + DAY)


async def test_what_a_caller_is_given_shares_nothing_with_the_store(mesh: Mesh) -> None:
    created = await mesh.create(payload={"a": [1]})
    given = created.continuation.payload
    assert isinstance(given, dict)
    given["a"] = "changed"
    assert (await mesh.inspect(created.continuation.id)).payload == {"a": [1]}


async def test_ids_are_generated_unique_and_have_their_prefix(mesh: Mesh) -> None:
    many = [(await mesh.create(payload=None)).continuation for _ in range(50)]
    assert len({one.id for one in many}) == len({one.correlation_id for one in many}) == 50
    assert all(one.id.startswith("q_") and len(one.id) == 28 for one in many)


async def test_a_token_is_in_the_answer_that_issued_it_and_in_no_other(mesh: Mesh) -> None:
    created = await mesh.create(payload=None)
    token = created.resume_token
    assert token is not None
    assert token not in repr(created)
    seen = await mesh.inspect(created.continuation.id)
    history = await mesh.history(created.continuation.id)
    assert token not in repr(seen) + str(pausemesh.continuation_to_json(seen)) + repr(history)


async def test_without_an_expiry_the_lifetime_counts_from_creation(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload=None)
    assert created.continuation.expires_at == clock.now() + timedelta(days=7)


async def test_an_expiry_is_kept_in_whole_milliseconds(mesh: Mesh, clock: ManualClock) -> None:
    wanted = clock.now() + timedelta(seconds=9, microseconds=123_456)
    created = await mesh.create(payload=None, expires_at=wanted)
    assert created.continuation.expires_at == clock.now() + timedelta(seconds=9, milliseconds=123)


@pytest.mark.parametrize("past", [timedelta(0), timedelta(microseconds=999), -DAY])
async def test_an_expiry_that_is_not_ahead_is_refused(mesh: Mesh, clock: ManualClock, past: timedelta) -> None:
    with pytest.raises(pausemesh.InvalidRequest) as refusal:
        await mesh.create(payload=None, expires_at=clock.now() + past)
    assert refusal.value.issues[0].path == "/expiresAt"


async def test_an_expiry_reaches_the_maximum_and_not_beyond(mesh: Mesh, clock: ManualClock) -> None:
    most = clock.now() + timedelta(days=90)
    await mesh.create(payload=None, expires_at=most)
    await mesh.create(payload=None, expires_in=timedelta(days=90))
    for refused in (most + timedelta(milliseconds=1), datetime(9999, 1, 1, tzinfo=UTC)):
        with pytest.raises(pausemesh.InvalidRequest):
            await mesh.create(payload=None, expires_at=refused)
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.create(payload=None, expires_in=timedelta(days=90, microseconds=1))


@pytest.mark.parametrize(
    "members",
    [
        {"expires_at": datetime(2030, 1, 1)},  # noqa: DTZ001 - the subject
        {"expires_at": "2030-01-01T00:00:00Z"},
        {"expires_in": timedelta(0)},
        {"expires_in": timedelta(microseconds=10)},
        {"expires_in": 5},
        {"expires_in": DAY, "expires_at": datetime(2026, 1, 2, tzinfo=UTC)},
        {"continuation_id": " edge"},
        {"continuation_id": "emoji😀"},
        {"continuation_id": "x" * 201},
        {"correlation_id": ""},
        {"correlation_id": "a\nb"},
        {"metadata": ["not", "an", "object"]},
        {"queue": "bad/queue"},
        {"answerable_by": []},
        {"answerable_by": ["nobody"]},
        {"answerable_by": "token"},
        {"idempotency_key": ""},
        {"idempotency_key": "   "},
        {"idempotency_key": "x" * 201},
        {"idempotency_key": 5},
        {"payload": {"kind": "aproval"}},
        {"payload": {"kind": ["approval"]}},
        {"payload": {"message": 5}},
        {"payload": {"action": "book"}},
        {"payload": {"action": {"arguments": {}}}},
        {"payload": {"action": {"name": ""}}},
        {"payload": {"action": {"name": "book", "arguments": None}}},
        {"payload": {"action": {"name": "book"}, "kind": "input"}},
        {"answerable_by": 5},
        {"answerable_by": [[]]},
        {"answerable_by": ["token", 5]},
        {"continuation_id": 5},
        {"correlation_id": ["deep"]},
        {"queue": 5},
        {"by": "ana"},
        {"by": 5},
        {"expires_at": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))},
        {"payload": {"action": {"name": "book", "args": {}}}},
    ],
)
async def test_bad_members_are_refused_and_nothing_is_stored(mesh: Mesh, members: dict[str, object]) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.create(**{"payload": None, **members})  # type: ignore[arg-type]
    assert (await mesh.list()).continuations == ()


@pytest.mark.parametrize(
    "payload", [float("nan"), float("inf"), 2**53, "\ud800", {"a": {1, 2}}, {1: "a"}, ("tuple",), b"bytes", "nul\x00"]
)
async def test_what_is_not_exact_json_is_refused(mesh: Mesh, payload: object) -> None:
    with pytest.raises(pausemesh.InvalidJson):
        await mesh.create(payload=payload)  # type: ignore[arg-type]


async def test_payloads_are_bounded(mesh: Mesh) -> None:
    deep: JsonValue = None
    for _ in range(64):
        deep = [deep]
    await mesh.create(payload=deep)
    with pytest.raises(pausemesh.InvalidJson):
        await mesh.create(payload=[deep])
    await mesh.create(payload="x" * (65_536 - 2))
    with pytest.raises(pausemesh.PayloadTooLarge):
        await mesh.create(payload="x" * (65_536 - 1))


async def test_large_payloads_are_allowed_where_the_host_says_so(store: EventStore, clock: ManualClock) -> None:
    policy = pausemesh.Policy(json_limits=pausemesh.JsonLimits(max_bytes=1_000_000))
    async with pausemesh.open(store, clock=clock, policy=policy) as mesh:
        created = await mesh.create(payload="x" * 500_000)
        assert (await mesh.inspect(created.continuation.id)).payload == "x" * 500_000


async def test_a_taken_id_leaves_the_first_question_and_its_token_valid(mesh: Mesh, replica: Mesh) -> None:
    first = await mesh.create(payload="first", continuation_id="trip 42")
    for other in (mesh, replica):
        with pytest.raises(pausemesh.ContinuationExists):
            await other.create(payload="second", continuation_id="trip 42")
    assert first.resume_token is not None
    outcome = await mesh.resume("trip 42", token=first.resume_token, idempotency_key="k", payload=1)
    assert outcome.continuation.payload == "first"


async def test_a_key_makes_creation_safe_to_repeat(mesh: Mesh, replica: Mesh) -> None:
    first = await mesh.create(payload={"a": 1}, idempotency_key="k", expires_in=DAY)
    assert first.resume_token is not None
    await mesh.resume(first.continuation.id, token=first.resume_token, idempotency_key="r", payload=1)
    for again in (mesh, replica):
        repeat = await again.create(payload={"a": 1.0}, idempotency_key=" k ", expires_in=DAY)
        assert (repeat.resume_token, repeat.replayed) == (None, True)
        assert repeat.continuation == first.continuation


@pytest.mark.parametrize(
    "change",
    [
        {"payload": 2},
        {"metadata": {"x": 1}},
        {"correlation_id": "c"},
        {"expires_in": 2 * DAY},
        {"expires_in": None},
        {"answerable_by": ["token"]},
        {"queue": "q"},
    ],
)
async def test_another_request_under_the_same_key_conflicts(mesh: Mesh, change: dict[str, object]) -> None:
    request: dict[str, object] = {"payload": 1, "idempotency_key": "k", "expires_in": DAY}
    await mesh.create(**request)  # type: ignore[arg-type]
    with pytest.raises(pausemesh.IdempotencyConflict):
        await mesh.create(**{**request, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize("ways", [None, ["operator"]])
@pytest.mark.parametrize("key", [None, "k"])
async def test_a_creation_whose_reply_was_lost_is_found_with_its_token(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch, ways: list[str] | None, key: str | None
) -> None:
    append, lost = store.append, [True]

    async def flaky(*writes: Any) -> Any:
        outcome = await append(*writes)
        if lost:
            lost.pop()
            raise pausemesh.OutcomeUnknown
        return outcome

    monkeypatch.setattr(type(store), "append", lambda _store, *writes: flaky(*writes))
    created = await mesh.create(payload=1, idempotency_key=key, answerable_by=ways)
    assert not created.replayed
    assert len((await mesh.list()).continuations) == 1
    if ways is None:
        assert created.resume_token is not None
        noun_id = created.continuation.id
        outcome = await mesh.resume(noun_id, token=created.resume_token, idempotency_key="k", payload=1)
        assert outcome.continuation.status == "resumed"


async def test_a_creation_that_was_not_stored_is_stored_at_the_second_try(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, lost = store.append, [True]

    async def flaky(*writes: Any) -> Any:
        if lost:
            lost.pop()
            raise pausemesh.OutcomeUnknown
        return await append(*writes)

    monkeypatch.setattr(type(store), "append", lambda _store, *writes: flaky(*writes))
    created = await mesh.create(payload=1, continuation_id="mine")
    assert (created.replayed, created.resume_token is None) == (False, False)
    lost.append(True)
    with pytest.raises(pausemesh.ContinuationExists):
        await mesh.create(payload=2, continuation_id="mine")
    await mesh.reissue_token("mine")
    lost.append(True)
    with pytest.raises(pausemesh.ContinuationExists):
        await mesh.create(payload=1, continuation_id="mine")


async def test_metadata_may_be_any_mapping(mesh: Mesh) -> None:
    created = await mesh.create(payload=1, metadata=MappingProxyType({"team": "travel"}))
    assert created.continuation.metadata == {"team": "travel"}


async def test_the_same_key_by_somebody_else_is_another_question(mesh: Mesh) -> None:
    ids = {
        (await mesh.create(payload=1, idempotency_key="k", by=by)).continuation.id for by in (None, ANA, BOT, ANA, None)
    }
    assert len(ids) == 3


async def test_an_explicit_id_wins_over_the_key(mesh: Mesh) -> None:
    created = await mesh.create(payload=1, idempotency_key="k", continuation_id="mine")
    repeat = await mesh.create(payload=1, idempotency_key="k", continuation_id="mine")
    assert (created.continuation.id, repeat.replayed) == ("mine", True)
    at = created.continuation.expires_at
    with pytest.raises(pausemesh.IdempotencyConflict):
        await mesh.create(payload=1, idempotency_key="k", continuation_id="mine", expires_at=at)


async def test_a_keyed_repeat_finds_its_question_after_the_expiry_that_it_names(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    at = clock.now() + DAY
    first = await mesh.create(payload=1, idempotency_key="k", expires_at=at)
    clock.advance(2 * DAY)
    repeat = await replica.create(payload=1, idempotency_key="k", expires_at=at)
    assert (repeat.replayed, repeat.continuation) == (True, first.continuation)
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.create(payload=1, idempotency_key="k2", expires_at=at)


async def test_the_ways_to_answer_may_come_from_anything_that_can_be_gone_through_once(mesh: Mesh) -> None:
    first = await mesh.create(payload=1, idempotency_key="k", answerable_by=iter(["token"]))
    repeat = await mesh.create(payload=1, idempotency_key="k", answerable_by=["token", "token"])
    assert (first.continuation.answerable_by, repeat.replayed) == (("token",), True)


async def test_who_may_ask(mesh: Mesh) -> None:
    for by in (BOT, ANA):
        created = await mesh.create(payload=None, by=by)
        assert created.continuation.created_by == by.id
    for by in (EYE, POST):
        with pytest.raises(pausemesh.Forbidden):
            await mesh.create(payload=None, by=by)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await mesh.create(payload=None, by=STRANGER)


async def test_an_agent_that_asks_for_approval_gets_no_token(mesh: Mesh) -> None:
    asked = await mesh.create(payload={"kind": "approval"}, by=BOT)
    assert asked.resume_token is None
    assert asked.continuation.answerable_by == ("operator",)
    for payload, by in (({"kind": "approval"}, ANA), ({"kind": "input"}, BOT)):
        other = await mesh.create(payload=payload, by=by)
        assert other.resume_token is not None
        assert other.continuation.answerable_by == ("token", "operator")
    chosen = await mesh.create(payload={"kind": "approval"}, by=BOT, answerable_by=["operator", "token"])
    assert chosen.continuation.answerable_by == ("token", "operator")


async def test_an_agent_that_asks_for_an_action_asks_for_approval(mesh: Mesh) -> None:
    asked = await mesh.create(payload={"action": {"name": "wipe"}}, by=BOT)
    assert (asked.resume_token, asked.continuation.question.kind) == (None, "approval")


async def test_a_key_of_a_principal_never_meets_that_of_an_ask(mesh: Mesh) -> None:
    squatter = pausemesh.Principal(id="ask", role=pausemesh.Role.AGENT)
    squatted = await mesh.create(payload="mine", idempotency_key="trip", by=squatter)
    with pytest.raises(pausemesh.WaitTimeout):
        await mesh.ask("Which?", key="trip", timeout=0)
    assert len((await mesh.list()).continuations) == 2
    assert (await mesh.inspect(squatted.continuation.id)).payload == "mine"


async def test_a_schema_that_cannot_be_checked_safely_is_refused_at_creation(mesh: Mesh) -> None:
    schemas: list[JsonValue] = [{"$ref": "https://example.org/x"}, {"type": "object", "frobnicate": 1}, 5]
    for schema in schemas:
        with pytest.raises(pausemesh.SchemaNotAllowed):
            await mesh.create(payload={"responseSchema": schema})


async def test_scopes_see_nothing_of_each_other(store: EventStore, mesh: Mesh, clock: ManualClock) -> None:
    async with pausemesh.open(store, clock=clock, scope="elsewhere") as other:
        here = await mesh.create(payload="here", idempotency_key="k", correlation_id="c")
        there = await other.create(payload="there", idempotency_key="k", correlation_id="c")
        assert here.continuation.id != there.continuation.id
        with pytest.raises(pausemesh.ContinuationNotFound):
            await other.inspect(here.continuation.id)
        await other.cancel(there.continuation.id)
        assert (await mesh.inspect(here.continuation.id)).status == "pending"
        for filters in ({}, {"correlation_id": "c"}, {"status": "pending"}):
            page = await mesh.list(**filters)  # type: ignore[arg-type]
            assert [one.payload for one in page.continuations] == ["here"]


async def test_a_new_token_replaces_the_old_one(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload=None, by=BOT)
    noun_id = created.continuation.id
    again = await replica.reissue_token(noun_id, expected_version=1, by=BOT)
    assert again.continuation.version == 2
    assert created.resume_token is not None
    assert again.resume_token is not None
    with pytest.raises(pausemesh.TokenMismatch):
        await mesh.resume(noun_id, token=created.resume_token, idempotency_key="k", payload=1)
    outcome = await mesh.resume(noun_id, token=again.resume_token, idempotency_key="k", payload=1)
    assert outcome.continuation.version == 3


async def test_who_may_have_a_new_token(mesh: Mesh) -> None:
    created = await mesh.create(payload=None, by=BOT)
    noun_id = created.continuation.id
    for by in (None, BOT, ANA):
        await mesh.reissue_token(noun_id, by=by)
    other = pausemesh.Principal(id="other-bot", role=pausemesh.Role.AGENT)
    for by in (EYE, POST, other):
        with pytest.raises(pausemesh.Forbidden):
            await mesh.reissue_token(noun_id, by=by)
    for unknown, by in (("q_none", None), (noun_id, STRANGER)):
        with pytest.raises(pausemesh.ContinuationNotFound):
            await mesh.reissue_token(unknown, by=by)


async def test_no_new_token_after_the_deadline(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload=None, expires_in=DAY)
    clock.advance(DAY)
    with pytest.raises(pausemesh.ContinuationExpired):
        await mesh.reissue_token(created.continuation.id)
    assert [type(one.event).__name__ for one in await mesh.history(created.continuation.id)] == ["Created", "Expired"]
