"""The one answer, cancellation and expiry, and what everybody else is told."""

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

import pausemesh
from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore, Observation
from pausemesh.service.asking import CreatedContinuation
from pausemesh.service.deciding import Outcome
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, BEN, BOT, EYE, POST, ROOT, STRANGER, Notes

DAY = timedelta(days=1)
FLIGHT_SCHEMA: JsonValue = {
    "type": "object",
    "properties": {"flight": {"type": "string"}},
    "required": ["flight"],
    "additionalProperties": False,
}


async def resume(
    mesh: Mesh, created: CreatedContinuation, payload: JsonValue = 1, key: str = "k", **more: object
) -> Outcome:
    assert created.resume_token is not None
    return await mesh.resume(
        created.continuation.id,
        token=created.resume_token,
        idempotency_key=key,
        payload=payload,
        **more,  # type: ignore[arg-type]
    )


async def test_the_right_token_resumes_at_version_2(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload="?")
    clock.advance(DAY)
    outcome = await resume(mesh, created, {"flight": "AZ1"})
    seen = outcome.continuation
    assert (outcome.replayed, seen.status, seen.version) == (False, "resumed", 2)
    assert (seen.resume_payload, seen.resumed_at, seen.idempotency_key) == ({"flight": "AZ1"}, clock.now(), "k")
    assert seen.by == pausemesh.Actor(kind=pausemesh.ActorKind.TOKEN)


async def test_an_exact_retry_gets_the_identical_outcome_at_any_time_on_any_replica(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    created = await mesh.create(payload="?", expires_in=DAY)
    first = await resume(mesh, created, {"a": 1, "b": 2})
    clock.advance(400 * DAY)
    for other in (mesh, replica):
        again = await resume(other, created, {"b": 2.0, "a": 1.0}, " k ")
        assert again == Outcome(continuation=first.continuation, replayed=True)
        assert pausemesh.continuation_to_json(again.continuation) == pausemesh.continuation_to_json(first.continuation)
    assert len(await mesh.history(created.continuation.id)) == 2


async def test_a_retry_that_differs_is_told_why_not(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    await resume(mesh, created)
    for other in (mesh, replica):
        with pytest.raises(pausemesh.IdempotencyConflict):
            await resume(other, created, 2)
        with pytest.raises(pausemesh.TokenAlreadyUsed) as refusal:
            await resume(other, created, 1, "another key")
        assert refusal.value.recorded is not None
        assert refusal.value.recorded.status == "resumed"
    assert len(await mesh.history(created.continuation.id)) == 2


@pytest.mark.parametrize("token", [None, "", "pmr_", "x" * 10_000, "ä", 5, "pmr_" + "a" * 49])
async def test_a_malformed_token_is_refused_before_anything_is_looked_up(mesh: Mesh, token: object) -> None:
    for unknown in ("q_none", "never/an/id"):
        with pytest.raises(pausemesh.TokenMismatch):
            await mesh.resume(unknown, token=token, idempotency_key="k", payload=1)  # type: ignore[arg-type]


async def test_a_wrong_token_is_told_the_same_in_every_state(mesh: Mesh) -> None:
    wrong = (await mesh.create(payload="other")).resume_token
    assert wrong is not None
    pending, resumed, cancelled = [await mesh.create(payload="?") for _ in range(3)]
    await resume(mesh, resumed)
    await mesh.cancel(cancelled.continuation.id)
    told = set()
    for created in (pending, resumed, cancelled):
        with pytest.raises(pausemesh.TokenMismatch) as refusal:
            await mesh.resume(created.continuation.id, token=wrong, idempotency_key="k", payload=1)
        told.add(str(refusal.value))
    assert len(told) == 1


@pytest.mark.parametrize("no_id", [5, None, [], {}, b"q"])
async def test_an_id_that_is_no_text_is_refused(mesh: Mesh, no_id: object) -> None:
    token = (await mesh.create(payload="?", continuation_id="5")).resume_token
    wrong: Any = no_id
    for attempt in (
        mesh.resume(wrong, token=str(token), idempotency_key="k", payload=1),
        mesh.answer(wrong, by=ANA, idempotency_key="k", payload=1),
        mesh.cancel(wrong),
        mesh.reissue_token(wrong),
        mesh.inspect(wrong),
        mesh.history(wrong),
        mesh.wait(wrong),
        mesh.effects(wrong),
        mesh.claim(wrong).__aenter__(),
        mesh.resolve_effect(wrong, "k", "done", evidence="x"),
    ):
        with pytest.raises(pausemesh.InvalidRequest):
            await attempt


@pytest.mark.parametrize("nobody", ["ana", 5, {"id": "ana"}])
async def test_who_is_no_principal_is_refused(mesh: Mesh, nobody: object) -> None:
    created = await mesh.create(payload="?")
    noun_id, wrong = created.continuation.id, cast("Any", nobody)
    for attempt in (
        mesh.resume(noun_id, token=str(created.resume_token), idempotency_key="k", payload=1, by=wrong),
        mesh.answer(noun_id, by=wrong, idempotency_key="k", payload=1),
        mesh.answer(noun_id, by=cast("Any", None), idempotency_key="k", payload=1),
        mesh.cancel(noun_id, by=wrong),
        mesh.reissue_token(noun_id, by=wrong),
        mesh.resolve_effect(noun_id, "k", "done", evidence="x", by=wrong),
    ):
        with pytest.raises(pausemesh.InvalidRequest):
            await attempt


async def test_an_unknown_id_is_not_found(mesh: Mesh) -> None:
    token = (await mesh.create(payload="?")).resume_token
    assert token is not None
    for unknown in ("q_none", "", "a/b", "ä", "x" * 5_000):
        for attempt in (
            mesh.resume(unknown, token=token, idempotency_key="k", payload=1),
            mesh.answer(unknown, by=ANA, idempotency_key="k", payload=1),
            mesh.cancel(unknown),
            mesh.inspect(unknown),
            mesh.history(unknown),
            mesh.wait(unknown),
            mesh.effects(unknown),
        ):
            with pytest.raises(pausemesh.ContinuationNotFound):
                await attempt


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (None, pausemesh.IdempotencyKeyRequired),
        ("", pausemesh.IdempotencyKeyInvalid),
        (" ", pausemesh.IdempotencyKeyInvalid),
        ("x" * 201, pausemesh.IdempotencyKeyInvalid),
        ("x" * 900, pausemesh.IdempotencyKeyInvalid),
        ("a\x00b", pausemesh.IdempotencyKeyInvalid),
        (7, pausemesh.IdempotencyKeyInvalid),
    ],
)
async def test_a_key_is_required_and_bounded(mesh: Mesh, key: object, error: type[Exception]) -> None:
    created = await mesh.create(payload="?")
    with pytest.raises(error):
        await resume(mesh, created, key=key)  # type: ignore[arg-type]
    await resume(mesh, created, key=" " + "x" * 200 + " ")


async def test_an_answer_that_does_not_fit_leaves_the_question_open(mesh: Mesh) -> None:
    created = await mesh.create(payload={"message": "Which?", "responseSchema": FLIGHT_SCHEMA})
    for bad in ({}, {"flight": 5}, {"flight": "AZ1", "extra": 1}, None, "AZ1"):
        with pytest.raises(pausemesh.AnswerInvalid) as refusal:
            await resume(mesh, created, bad)  # type: ignore[arg-type]
        assert refusal.value.issues
    assert len(await mesh.history(created.continuation.id)) == 1
    outcome = await resume(mesh, created, {"flight": "AZ1"})
    assert outcome.continuation.resume_payload == {"flight": "AZ1"}


async def test_an_approval_without_a_schema_takes_approved_and_a_note(mesh: Mesh) -> None:
    created = await mesh.create(payload={"kind": "approval", "message": "Book?"})
    for bad in ({"flight": "AZ1"}, {}, {"approved": "yes"}, {"approved": True, "more": 1}):
        with pytest.raises(pausemesh.AnswerInvalid):
            await resume(mesh, created, bad)  # type: ignore[arg-type]
    assert (await resume(mesh, created, {"approved": True, "note": "ok"})).continuation.status == "resumed"


async def test_a_host_may_check_answers_itself(store: EventStore, clock: ManualClock) -> None:
    async with pausemesh.open(store, clock=clock, policy=pausemesh.Policy(check_answers=False)) as mesh:
        created = await mesh.create(payload={"responseSchema": FLIGHT_SCHEMA})
        assert (await resume(mesh, created, "anything")).continuation.status == "resumed"


async def test_null_is_an_answer(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    outcome = await resume(mesh, created, None)
    assert (outcome.continuation.status, outcome.continuation.resume_payload) == ("resumed", None)
    assert (await resume(mesh, created, None)).replayed


async def test_what_was_shown_must_match_where_it_is_given(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    for wrong in ("0" * 64, "", created.continuation.shown_digest.upper()):
        with pytest.raises(pausemesh.DigestMismatch):
            await resume(mesh, created, shown_digest=wrong)
        with pytest.raises(pausemesh.DigestMismatch):
            await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1, shown_digest=wrong)
    with pytest.raises(pausemesh.InvalidRequest):
        await resume(mesh, created, shown_digest=5)
    await resume(mesh, created, shown_digest=created.continuation.shown_digest)


async def test_the_shown_digest_covers_id_payload_and_expiry(mesh: Mesh, clock: ManualClock) -> None:
    at = clock.now() + DAY
    first = await mesh.create(payload={"a": 1}, continuation_id="one", expires_at=at)
    digests = {first.continuation.shown_digest}
    for noun_id, payload, expiry in (("two", {"a": 1}, at), ("three", {"a": 2}, at), ("four", {"a": 1}, at + DAY)):
        created = await mesh.create(payload=payload, continuation_id=noun_id, expires_at=expiry)
        digests.add(created.continuation.shown_digest)
    assert len(digests) == 4


async def test_an_operator_answers_without_a_token_and_is_remembered(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    noun_id = created.continuation.id
    outcome = await mesh.answer(noun_id, by=ANA, idempotency_key="k", payload=1)
    assert outcome.continuation.by == pausemesh.Actor(kind=pausemesh.ActorKind.OPERATOR, id="ana")
    assert (await mesh.answer(noun_id, by=ANA, idempotency_key="k", payload=1)).replayed
    with pytest.raises(pausemesh.TokenAlreadyUsed):
        await mesh.answer(noun_id, by=BEN, idempotency_key="k", payload=1)
    with pytest.raises(pausemesh.TokenAlreadyUsed):
        await resume(mesh, created)


async def test_who_may_answer(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    noun_id = created.continuation.id
    for by in (BOT, EYE, POST):
        with pytest.raises(pausemesh.Forbidden):
            await mesh.answer(noun_id, by=by, idempotency_key="k", payload=1)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await mesh.answer(noun_id, by=STRANGER, idempotency_key="k", payload=1)
    closed = await mesh.create(payload="?", answerable_by=["token"])
    with pytest.raises(pausemesh.Forbidden):
        await mesh.answer(closed.continuation.id, by=ROOT, idempotency_key="k", payload=1)
    assert (await mesh.answer(noun_id, by=ROOT, idempotency_key="k", payload=1)).continuation.status == "resumed"


async def test_an_agent_never_resumes_an_approval_with_whatever_token(mesh: Mesh) -> None:
    approval = await mesh.create(payload={"kind": "approval"})
    for by in (BOT, POST):
        with pytest.raises(pausemesh.Forbidden):
            await resume(mesh, approval, {"approved": True}, by=by)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await resume(mesh, approval, {"approved": True}, by=STRANGER)
    assert (await mesh.inspect(approval.continuation.id)).status == "pending"
    plain = await mesh.create(payload="?")
    assert (await resume(mesh, plain, by=BOT)).continuation.status == "resumed"


@pytest.mark.parametrize("meshes", ["one", "two"])
async def test_of_many_at_once_exactly_one_answer_counts(mesh: Mesh, replica: Mesh, meshes: str) -> None:
    created = await mesh.create(payload="?")
    pool = [mesh, replica if meshes == "two" else mesh]
    tries = [resume(pool[n % 2], created, n, f"key-{n}") for n in range(20)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    winners = [one for one in results if isinstance(one, Outcome)]
    losers = [one for one in results if isinstance(one, pausemesh.TokenAlreadyUsed)]
    assert (len(winners), len(losers)) == (1, 19)
    assert all(one.recorded is not None and one.recorded.version == 2 for one in losers)
    assert len(await mesh.history(created.continuation.id)) == 2


async def test_many_copies_of_one_request_all_get_the_one_outcome(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    results = await asyncio.gather(*[resume((mesh, replica)[n % 2], created) for n in range(20)])
    assert len({one.continuation for one in results}) == 1
    assert sum(not one.replayed for one in results) == 1
    assert len(await mesh.history(created.continuation.id)) == 2


async def test_of_a_token_and_an_operator_at_once_one_wins(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    by_token = resume(mesh, created)
    by_operator = replica.answer(created.continuation.id, by=ANA, idempotency_key="k", payload=1)
    results = await asyncio.gather(by_token, by_operator, return_exceptions=True)
    assert sorted(type(one).__name__ for one in results) == ["Outcome", "TokenAlreadyUsed"]


async def test_cancelling_stores_the_reason_and_repeats(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    noun_id = created.continuation.id
    first = await mesh.cancel(noun_id, reason="no longer needed", expected_version=1)
    assert (first.continuation.status, first.continuation.reason) == ("cancelled", "no longer needed")
    for version in (None, 1):
        again = await replica.cancel(noun_id, reason="no longer needed", expected_version=version)
        assert again == Outcome(continuation=first.continuation, replayed=True)
    with pytest.raises(pausemesh.InvalidTransition):
        await mesh.cancel(noun_id, reason="another")
    with pytest.raises(pausemesh.ContinuationCancelled):
        await resume(mesh, created)


async def test_a_cancel_is_fenced_and_bounded(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    noun_id = created.continuation.id
    with pytest.raises(pausemesh.VersionConflict) as refusal:
        await mesh.cancel(noun_id, expected_version=7)
    assert (refusal.value.expected, refusal.value.actual) == (7, 1)
    for version in (0, -1, True, "1", 1.0):
        with pytest.raises(pausemesh.InvalidRequest):
            await mesh.cancel(noun_id, expected_version=version)  # type: ignore[arg-type]
    for reason in ("x" * 501, "a\x00", 5):
        with pytest.raises(pausemesh.InvalidRequest):
            await mesh.cancel(noun_id, reason=reason)  # type: ignore[arg-type]
    assert (await mesh.cancel(noun_id, reason="x" * 500)).continuation.status == "cancelled"


async def test_who_may_cancel(mesh: Mesh) -> None:
    other = pausemesh.Principal(id="other-bot", role=pausemesh.Role.AGENT)
    created = await mesh.create(payload="?", by=BOT)
    for by in (other, EYE, POST):
        with pytest.raises(pausemesh.Forbidden):
            await mesh.cancel(created.continuation.id, by=by)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await mesh.cancel(created.continuation.id, by=STRANGER)
    assert (await mesh.cancel(created.continuation.id, by=BOT)).continuation.by == BOT.actor()


async def test_of_two_cancels_with_different_reasons_one_wins(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    tries = [mesh.cancel(created.continuation.id, reason="a"), replica.cancel(created.continuation.id, reason="b")]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in results) == ["InvalidTransition", "Outcome"]
    assert len(await mesh.history(created.continuation.id)) == 2


async def test_at_the_deadline_expiry_beats_everything_and_is_recorded_once(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    created = await mesh.create(payload="?", expires_in=DAY)
    noun_id = created.continuation.id
    await replica.inspect(noun_id)
    clock.advance(DAY)
    results = await asyncio.gather(
        resume(mesh, created),
        mesh.cancel(noun_id),
        replica.answer(noun_id, by=ANA, idempotency_key="k", payload=1),
        return_exceptions=True,
    )
    assert {type(one) for one in results} == {pausemesh.ContinuationExpired}
    assert all(one.expires_at == created.continuation.expires_at for one in results)  # type: ignore[union-attr]
    for other in (mesh, replica):
        assert (await other.inspect(noun_id)).status == "expired"
    assert len(await mesh.history(noun_id)) == 2


async def test_reads_at_the_deadline_show_expired(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload="?", expires_in=DAY, correlation_id="c")
    clock.advance(DAY - timedelta(microseconds=1))
    assert (await mesh.inspect(created.continuation.id)).status == "pending"
    clock.advance(timedelta(microseconds=1))
    assert (await mesh.list(status="pending")).continuations == ()
    assert [one.status for one in (await mesh.list(correlation_id="c")).continuations] == ["expired"]
    assert (await mesh.inspect(created.continuation.id)).expired_at == clock.now()
    assert (await mesh.wait(created.continuation.id)).status == "expired"


async def test_the_stores_clock_decides_and_not_the_callers(store: EventStore, clock: ManualClock) -> None:
    early, late = ManualClock(clock.now() - 9 * DAY), ManualClock(clock.now() + 9 * DAY)
    async with pausemesh.open(store, clock=early) as slow, pausemesh.open(store, clock=late) as fast:
        created = await fast.create(payload="?", expires_at=clock.now() + 10 * DAY)
        assert (await fast.inspect(created.continuation.id)).status == "pending"
        late.advance(9 * DAY)
        assert (await fast.inspect(created.continuation.id)).status == "pending"
        assert (await resume(fast, created)).continuation.status == "resumed"
        second = await slow.create(payload="?", expires_at=clock.now() + DAY)
        clock.advance(DAY)
        with pytest.raises(pausemesh.ContinuationExpired):
            await resume(slow, second)


async def test_a_sweep_goes_by_the_stores_clock_whatever_its_own_says(store: EventStore, clock: ManualClock) -> None:
    behind = ManualClock(clock.now() - DAY)
    async with pausemesh.open(store, clock=clock) as mesh, pausemesh.open(store, clock=behind) as late:
        created = await mesh.create(payload="?", expires_in=timedelta(seconds=10))
        assert await late.sweep() == 0
        clock.advance(timedelta(seconds=10))
        assert await late.sweep() == 1
        assert (await mesh.inspect(created.continuation.id)).expired_at == clock.now()


async def test_every_look_at_an_expired_question_shows_the_same(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload="?", expires_in=DAY)
    clock.advance(DAY)
    assert await mesh.inspect(created.continuation.id) == await mesh.inspect(created.continuation.id)


async def test_a_fenced_cancel_of_an_overdue_question_is_told_that_it_expired(mesh: Mesh, clock: ManualClock) -> None:
    created = await mesh.create(payload="?", expires_in=DAY)
    clock.advance(DAY)
    for _ in range(2):
        with pytest.raises(pausemesh.ContinuationExpired):
            await mesh.cancel(created.continuation.id, expected_version=1)


async def test_a_sweep_expires_what_is_overdue_in_every_scope_once(
    store: EventStore, mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    async with pausemesh.open(store, clock=clock, scope="elsewhere") as other:
        there = await other.create(payload="?", expires_in=DAY)
        for days in (1, 2, 3):
            await mesh.create(payload="?", expires_in=days * DAY)
        assert await mesh.sweep() == 0
        clock.advance(2 * DAY)
        assert await mesh.sweep(limit=1) == 1
        assert sum(await asyncio.gather(mesh.sweep(), replica.sweep())) == 2
        assert await mesh.sweep() == 0
        assert (await other.inspect(there.continuation.id)).status == "expired"
    assert len((await mesh.list(status="pending")).continuations) == 1
    assert len((await mesh.list(status="expired")).continuations) == 2


async def test_creation_transition_and_rejection_are_observed_once_without_contents(mesh: Mesh, notes: Notes) -> None:
    created = await mesh.create(payload="canary-1", metadata={"m": "canary-2"})
    with pytest.raises(pausemesh.AnswerInvalid):
        await resume(mesh, await mesh.create(payload={"responseSchema": False}), "canary-3")
    await resume(mesh, created, "canary-4")
    await resume(mesh, created, "canary-4")
    with pytest.raises(pausemesh.TokenAlreadyUsed):
        await resume(mesh, created, "canary-5", "k2")
    told = [(one.name, one.status, one.version, one.code) for one in notes.seen]
    assert told == [
        ("created", "pending", 1, None),
        ("created", "pending", 1, None),
        ("rejection", None, None, "ANSWER_INVALID"),
        ("transition", "resumed", 2, None),
        ("rejection", None, None, "TOKEN_ALREADY_USED"),
    ]
    assert "canary" not in repr(notes.seen)
    assert created.resume_token is not None
    assert created.resume_token not in repr(notes.seen)


async def test_an_observer_that_fails_changes_nothing(store: EventStore, clock: ManualClock) -> None:
    class Failing:
        def observe(self, observation: Observation) -> None:
            raise RuntimeError(observation.name)

    async with pausemesh.open(store, clock=clock, observer=Failing()) as mesh:
        created = await mesh.create(payload="?")
        assert (await resume(mesh, created)).continuation.status == "resumed"


async def test_a_person_who_decides_is_in_the_audit_log_with_digests_alone(
    mesh: Mesh, store: EventStore, clock: ManualClock
) -> None:
    first, second, third = [await mesh.create(payload="?") for _ in range(3)]
    await mesh.answer(first.continuation.id, by=ANA, idempotency_key="k", payload="canary")
    clock.advance(DAY)
    await mesh.cancel(second.continuation.id, by=ROOT, reason="canary")
    await resume(mesh, third, "canary")
    rows = [one.row for one in await store.list_audit("default")]
    assert [(row.action, row.actor, row.noun_id) for row in rows] == [
        ("continuation.resume", "editor:ana", first.continuation.id),
        ("continuation.cancel", "admin:root", second.continuation.id),
    ]
    assert "canary" not in repr(rows)
    assert rows[0].digest is not None
