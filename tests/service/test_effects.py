"""The effects ledger: once, or known to be in doubt, and only what was approved."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import pausemesh
from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore
from pausemesh.service.claims import Claims
from pausemesh.service.effects import Effects
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, ROOT, STRANGER, Notes
from tests.service.test_claims import answered

LEASE = timedelta(seconds=60)
ARGUMENTS: dict[str, JsonValue] = {"flight": "AZ1", "seats": 2}
APPROVAL: JsonValue = {"kind": "approval", "action": {"name": "book", "arguments": ARGUMENTS}}


class Airline:
    """The world outside: it counts what really happened."""

    def __init__(self) -> None:
        self.booked: list[str] = []

    async def book(self, flight: str, seats: int = 1) -> JsonValue:
        self.booked.append(flight)
        return {"ticket": len(self.booked), "seats": seats}

    def book_blocking(self, flight: str, seats: int = 1) -> JsonValue:
        self.booked.append(flight)
        return {"ticket": len(self.booked), "seats": seats}


@pytest.fixture
def airline() -> Airline:
    return Airline()


async def test_an_effect_runs_once_and_a_repeat_gets_its_recorded_result(
    mesh: Mesh, replica: Mesh, airline: Airline
) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(RuntimeError):
        async with mesh.claim(noun_id) as turn:
            first = await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
            assert first == {"ticket": 1, "seats": 2}
            raise RuntimeError
    async with replica.claim(noun_id) as turn:
        assert await turn.effect("book", arguments={"seats": 2.0, "flight": "AZ1"}, run=airline.book) == first
    assert airline.booked == ["AZ1"]
    [effect] = await mesh.effects(noun_id)
    assert (effect.key, effect.kind, effect.status, effect.fence, effect.attempts) == (
        "book",
        "book",
        "completed",
        1,
        1,
    )
    assert effect.result == first


async def test_blocking_effects_and_effects_without_parameters_run_too(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        assert await turn.effect("a", arguments=ARGUMENTS, run=airline.book_blocking) == {"ticket": 1, "seats": 2}
        assert await turn.effect("b", arguments=ARGUMENTS, run=lambda: None) is None
        assert await turn.effect("c", arguments=ARGUMENTS, run=lambda **given: airline.book(**given)) == {
            "ticket": 2,
            "seats": 2,
        }
        assert await turn.effect("d", arguments={}, run=dict) == {}
    assert [effect.key for effect in await mesh.effects(noun_id)] == ["a", "b", "c", "d"]


async def test_another_kind_or_other_arguments_under_one_key_conflict(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        others: list[tuple[dict[str, JsonValue] | None, str | None]] = [
            ({"flight": "AZ2"}, None),
            (None, None),
            (ARGUMENTS, "rebook"),
        ]
        for arguments, kind in others:
            with pytest.raises(pausemesh.EffectConflict):
                await turn.effect("book", arguments=arguments, kind=kind, run=lambda **_: None)
    assert airline.booked == ["AZ1"]


async def test_an_interrupted_effect_is_in_doubt_until_evidence_settles_it(
    mesh: Mesh, replica: Mesh, airline: Airline
) -> None:
    noun_id = await answered(mesh)

    async def interrupted(flight: str, seats: int) -> JsonValue:
        await airline.book(flight, seats)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=interrupted)
    async with replica.claim(noun_id) as turn:
        for _ in range(2):
            with pytest.raises(pausemesh.EffectUnknown):
                await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        settled = await turn.resolve("book", "done", evidence="the airline has it", result={"ticket": 1})
        assert (settled.status, settled.evidence) == ("completed", "the airline has it")
        assert await turn.effect("book", arguments=ARGUMENTS, run=airline.book) == {"ticket": 1}
    assert airline.booked == ["AZ1"]


async def test_what_evidence_says_did_not_happen_runs_once_more(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)

    async def lost(**_: object) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=lost)
    settled = await mesh.resolve_effect(noun_id, "book", "not_done", evidence="nothing there", by=ROOT)
    assert (settled.status, settled.resolved_by) == ("failed", ROOT.actor())
    async with mesh.claim(noun_id) as turn:
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == ["AZ1"]
    assert (await mesh.effects(noun_id))[0].attempts == 2


async def test_an_effect_that_says_it_did_not_happen_may_be_tried_again(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)

    def full() -> None:
        raise pausemesh.EffectFailed("The flight is full.")

    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.EffectFailed, match="full"):
            await turn.effect("book", arguments=ARGUMENTS, run=full)
        assert (await mesh.effects(noun_id))[0].status == "failed"
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == ["AZ1"]


async def test_a_killed_holders_effect_is_in_doubt_for_the_next(
    mesh: Mesh, replica: Mesh, airline: Airline, clock: ManualClock
) -> None:
    noun_id = await answered(mesh)
    inside = asyncio.Event()

    async def never_returns(**_: object) -> None:
        inside.set()
        await asyncio.Event().wait()

    async def work() -> None:
        async with mesh.claim(noun_id, lease=LEASE) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=never_returns)

    worker = asyncio.create_task(work())
    await inside.wait()
    with pytest.raises(pausemesh.InvalidTransition):
        await replica.resolve_effect(noun_id, "book", "done", evidence="too early", by=ROOT)
    clock.advance(LEASE)
    async with replica.claim(noun_id) as turn:
        with pytest.raises(pausemesh.EffectUnknown):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker
        [effect] = await replica.effects(noun_id)
        assert (effect.status, effect.fence) == ("started", 1)
    assert airline.booked == []


async def test_an_overtaken_holder_is_told_of_its_lease_and_not_of_what_the_next_did(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(pausemesh.LeaseLost):
        async with mesh.claim(noun_id, lease=LEASE) as stale:
            with pytest.raises(RuntimeError):
                await stale.effect("book", run=_boom)
            with pytest.raises(pausemesh.EffectUnknown):
                await stale.effect("book", run=_boom)
            clock.advance(LEASE)
            async with replica.claim(noun_id, lease=LEASE):
                with pytest.raises(pausemesh.LeaseLost):
                    await stale.effect("book", run=_boom)


async def test_a_cancelled_block_leaves_its_running_effect_in_doubt(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    inside = asyncio.Event()

    async def never_returns() -> None:
        inside.set()
        await asyncio.Event().wait()

    async def work() -> None:
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", run=never_returns)

    worker = asyncio.create_task(work())
    await inside.wait()
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert [effect.status for effect in await mesh.effects(noun_id)] == ["unknown"]
    assert (await mesh.inspect(noun_id)).claim.status == "open"  # type: ignore[union-attr]


async def test_the_same_effect_asked_twice_at_once_in_one_turn_runs_once(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)
    gate = asyncio.Event()

    async def slow(flight: str, seats: int) -> JsonValue:
        await gate.wait()
        return await airline.book(flight, seats)

    async with mesh.claim(noun_id) as turn:
        first = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=slow))
        second = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=slow))
        await asyncio.sleep(0.05)
        gate.set()
        assert await first == await second == {"ticket": 1, "seats": 2}
    assert airline.booked == ["AZ1"]


@pytest.mark.parametrize("error", [pausemesh.StoreUnavailable, pausemesh.OutcomeUnknown])
async def test_an_outcome_is_recorded_once_the_store_is_back(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch, error: type[pausemesh.PauseMeshError]
) -> None:
    noun_id = await answered(mesh)
    complete, failures = Effects.complete, 2

    async def flaky(*arguments: object) -> object:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise error
        return await complete(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Effects, "complete", flaky)
    async with mesh.claim(noun_id) as turn:
        assert await turn.effect("book", arguments=ARGUMENTS, run=airline.book) == {"ticket": 1, "seats": 2}
    assert airline.booked == ["AZ1"]


@pytest.mark.parametrize("error", [pausemesh.StoreUnavailable, pausemesh.StoreClosed])
async def test_an_outcome_that_cannot_be_recorded_leaves_the_effect_in_doubt_and_never_runs_it_again(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch, error: type[pausemesh.PauseMeshError]
) -> None:
    noun_id = await answered(mesh)

    async def away(*_: object) -> object:
        raise error

    monkeypatch.setattr(Effects, "complete", away)
    async with mesh.claim(noun_id, lease=timedelta(seconds=1)) as turn:
        with pytest.raises(error):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        with pytest.raises(pausemesh.EffectUnknown):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == ["AZ1"]


async def test_a_result_that_is_no_json_leaves_the_effect_in_doubt(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.InvalidJson):
            await turn.effect("book", run=object)
        assert [effect.status for effect in await mesh.effects(noun_id)] == ["unknown"]


@pytest.mark.parametrize(
    ("key", "arguments", "kind"),
    [("a/b", {}, None), ("", {}, None), ("k", {"a": {1}}, None), ("k", {}, ""), ("k", {}, "x" * 201)],
)
async def test_bad_members_of_an_effect_are_refused_before_it_starts(
    mesh: Mesh, key: str, arguments: dict[str, JsonValue], kind: str | None
) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.InvalidRequest):
            await turn.effect(key, arguments=arguments, kind=kind, run=lambda: None)
    assert await mesh.effects(noun_id) == []


async def test_an_approval_admits_exactly_the_effect_that_was_shown(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh, APPROVAL, {"approved": True})
    async with mesh.claim(noun_id) as turn:
        others: list[tuple[str, dict[str, JsonValue], str | None]] = [
            ("book", {"flight": "AZ1", "seats": 3}, None),
            ("book", {}, None),
            ("rebook", ARGUMENTS, None),
            ("book", ARGUMENTS, "rebook"),
        ]
        for key, arguments, kind in others:
            with pytest.raises(pausemesh.ActionMismatch):
                await turn.effect(key, arguments=arguments, kind=kind, run=lambda **_: airline.booked.append("no"))
        assert airline.booked == []
        await turn.effect("step-1", kind="book", arguments={"seats": 2, "flight": "AZ1"}, run=airline.book)
    assert airline.booked == ["AZ1"]


async def test_an_approval_is_carried_out_once_under_whatever_key(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh, APPROVAL, {"approved": True})
    async with mesh.claim(noun_id) as turn:
        await turn.effect("first", kind="book", arguments=ARGUMENTS, run=airline.book)
        with pytest.raises(pausemesh.InvalidRequest):
            await turn.resolve([], "done", evidence="x")  # type: ignore[arg-type]
        for key in ("second", "book"):
            with pytest.raises(pausemesh.ActionMismatch):
                await turn.effect(key, kind="book", arguments=ARGUMENTS, run=airline.book)
            with pytest.raises(pausemesh.ClaimNotFound):
                await turn.resolve(key, "done", evidence="x")
        assert await turn.effect("first", kind="book", arguments=ARGUMENTS, run=airline.book) == {
            "ticket": 1,
            "seats": 2,
        }
    assert [effect.key for effect in await mesh.effects(noun_id)] == ["first"]
    assert airline.booked == ["AZ1"]


@pytest.mark.parametrize("answer", [False, "no", None, {"decision": "no"}], ids=str)
async def test_an_approval_with_a_schema_of_its_own_is_approved_only_by_a_yes(
    mesh: Mesh, airline: Airline, answer: JsonValue
) -> None:
    payload: JsonValue = {"action": {"name": "book", "arguments": ARGUMENTS}, "responseSchema": True}
    noun_id = await answered(mesh, payload, answer)
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.ActionMismatch):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == []
    yes = await answered(mesh, payload, answer=True)
    async with mesh.claim(yes) as turn:
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == ["AZ1"]


async def test_a_declined_approval_admits_no_effect(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh, APPROVAL, {"approved": False})
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.ActionMismatch):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == []


@pytest.mark.parametrize(
    "run",
    [None, 5, "book", lambda flight: flight, lambda *, other: other],
    ids=["none", "number", "text", "another name", "another keyword"],
)
async def test_a_function_that_cannot_be_called_so_is_refused_before_anything_is_recorded(mesh: Mesh, run: Any) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.InvalidRequest) as refusal:
            await turn.effect("book", arguments={"x": 1}, run=run)
        assert refusal.value.issues[0].path == "/run"
    assert await mesh.effects(noun_id) == []


@pytest.mark.parametrize("arguments", [5, "x", b"y", ["a"], [("a", 1)], 0], ids=str)
async def test_arguments_are_an_object(mesh: Mesh, arguments: Any) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        with pytest.raises(pausemesh.InvalidRequest):
            await turn.effect("book", arguments=arguments, run=lambda **_: None)


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt])
async def test_whatever_a_blocking_effect_raises_arrives_and_leaves_a_doubt(
    mesh: Mesh, error: type[BaseException]
) -> None:
    noun_id = await answered(mesh)

    def fail() -> None:
        raise error

    async with mesh.claim(noun_id) as turn:
        with pytest.raises(RuntimeError if error is StopIteration else error):
            await turn.effect("book", run=fail)
    assert [effect.status for effect in await mesh.effects(noun_id)] == ["unknown"]


async def test_a_turn_is_not_done_while_one_of_its_effects_is_running(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    gate = asyncio.Event()

    async def slow() -> str:
        await gate.wait()
        return "done"

    async with mesh.claim(noun_id) as turn:
        running = asyncio.create_task(turn.effect("slow", run=slow))
        await asyncio.sleep(0.02)
        with pytest.raises(pausemesh.InvalidTransition):
            await turn.done()
        with pytest.raises(pausemesh.InvalidTransition):
            await turn.resolve("slow", "done", evidence="not yet")
        gate.set()
        assert await running == "done"


@pytest.mark.parametrize("error", [None, pausemesh.LeaseLost])
async def test_a_cancellation_waits_until_a_known_outcome_is_recorded(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch, error: type[pausemesh.PauseMeshError] | None
) -> None:
    noun_id = await answered(mesh)
    complete, recording, go_on = Effects.complete, asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        recording.set()
        await go_on.wait()
        if error is not None:
            raise error
        return await complete(*arguments)

    monkeypatch.setattr(Effects, "complete", slow)

    async def work() -> None:
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)

    worker = asyncio.create_task(work())
    await recording.wait()
    worker.cancel()
    await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await worker
    [effect] = await mesh.effects(noun_id)
    assert effect.status == ("completed" if error is None else "started")


@pytest.mark.parametrize("lost", [False, True])
async def test_a_start_whose_caller_went_before_it_began_is_no_doubt(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch, *, lost: bool
) -> None:
    noun_id = await answered(mesh)
    start, starting, go_on = Effects.start, asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any, **more: Any) -> Any:
        outcome = await start(*arguments, **more)
        if not starting.is_set():
            starting.set()
            await go_on.wait()
            if lost:
                raise pausemesh.OutcomeUnknown
        return outcome

    monkeypatch.setattr(Effects, "start", slow)
    async with mesh.claim(noun_id) as turn:
        caller = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=airline.book))
        await starting.wait()
        caller.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert [effect.status for effect in await mesh.effects(noun_id)] == ["failed"]
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        repeat = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=airline.book))
        assert await repeat == {"ticket": 1, "seats": 2}
    assert airline.booked == ["AZ1"]


async def test_a_caller_that_goes_while_a_known_result_is_looked_up_changes_nothing(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)
    async with mesh.claim(noun_id) as turn:
        await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        start, starting, go_on = Effects.start, asyncio.Event(), asyncio.Event()

        async def slow(*arguments: Any, **more: Any) -> Any:
            starting.set()
            await go_on.wait()
            return await start(*arguments, **more)

        monkeypatch.setattr(Effects, "start", slow)
        caller = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=airline.book))
        await starting.wait()
        caller.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
    assert [effect.status for effect in await mesh.effects(noun_id)] == ["completed"]


async def test_a_clean_end_waits_for_the_effects_that_are_running(mesh: Mesh, airline: Airline) -> None:
    noun_id = await answered(mesh)

    async def slow(**given: Any) -> JsonValue:
        await asyncio.sleep(0.03)
        return await airline.book(**given)

    async with mesh.claim(noun_id) as turn:
        running = asyncio.create_task(turn.effect("book", arguments=ARGUMENTS, run=slow))
        await asyncio.sleep(0.01)
    assert await running == {"ticket": 1, "seats": 2}
    assert [effect.status for effect in await mesh.effects(noun_id)] == ["completed"]
    assert (await mesh.inspect(noun_id)).claim.status == "done"  # type: ignore[union-attr]


async def test_no_effect_begins_while_the_turn_is_being_finished(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)
    finish, finishing, go_on = Claims.finish, asyncio.Event(), asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        finishing.set()
        await go_on.wait()
        return await finish(*arguments)

    monkeypatch.setattr(Claims, "finish", slow)
    async with mesh.claim(noun_id) as turn:
        ending = asyncio.create_task(turn.done())
        await finishing.wait()
        with pytest.raises(pausemesh.InvalidTransition):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
        go_on.set()
        await ending
        with pytest.raises(pausemesh.InvalidTransition):
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)
    assert airline.booked == []


async def test_a_cancellation_does_not_wait_for_ever_for_a_store_that_is_away(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)

    async def away(*_: Any) -> Any:
        raise pausemesh.StoreUnavailable

    monkeypatch.setattr(Effects, "complete", away)
    monkeypatch.setattr("pausemesh.service.turn._CANCELLED_SECONDS", 0.05)

    async def work() -> None:
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=airline.book)

    worker = asyncio.create_task(work())
    while not airline.booked:
        await asyncio.sleep(0.001)
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    for other in asyncio.all_tasks() - {asyncio.current_task()}:
        if "_record" in repr(other.get_coro()):
            other.cancel()
            await asyncio.gather(other, return_exceptions=True)


async def test_a_start_whose_reply_was_lost_is_found_and_run(
    mesh: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)
    start, lost = Effects.start, [True]

    async def flaky(*arguments: Any, **more: Any) -> Any:
        outcome = await start(*arguments, **more)
        if lost:
            lost.pop()
            raise pausemesh.OutcomeUnknown
        return outcome

    monkeypatch.setattr(Effects, "start", flaky)
    async with mesh.claim(noun_id) as turn:
        assert await turn.effect("book", arguments=ARGUMENTS, run=airline.book) == {"ticket": 1, "seats": 2}
    assert airline.booked == ["AZ1"]


async def test_evidence_found_before_a_later_claim_does_not_settle_what_that_claim_runs(
    mesh: Mesh, replica: Mesh, airline: Airline, monkeypatch: pytest.MonkeyPatch
) -> None:
    noun_id = await answered(mesh)

    def full() -> None:
        raise pausemesh.EffectFailed

    with pytest.raises(pausemesh.EffectFailed):
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments=ARGUMENTS, run=full)
    looked, go_on, is_live = asyncio.Event(), asyncio.Event(), Effects.is_live

    async def slow(*arguments: Any) -> bool:
        live = await is_live(*arguments)
        if not looked.is_set():
            looked.set()
            await go_on.wait()
        return live

    monkeypatch.setattr(Effects, "is_live", slow)
    resolving = asyncio.create_task(replica.resolve_effect(noun_id, "book", "not_done", evidence="nothing"))
    await looked.wait()

    async def book(flight: str, seats: int) -> JsonValue:
        go_on.set()
        with pytest.raises(pausemesh.InvalidTransition):
            await resolving
        return await airline.book(flight, seats)

    async with mesh.claim(noun_id) as turn:
        assert await turn.effect("book", arguments=ARGUMENTS, run=book) == {"ticket": 1, "seats": 2}
    assert airline.booked == ["AZ1"]


async def test_who_may_resolve_and_with_what(mesh: Mesh) -> None:
    noun_id = await answered(mesh)
    with pytest.raises(RuntimeError):
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", run=_boom)
    with pytest.raises(pausemesh.Forbidden):
        await mesh.resolve_effect(noun_id, "book", "done", evidence="x", by=ANA)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await mesh.resolve_effect(noun_id, "book", "done", evidence="x", by=STRANGER)
    with pytest.raises(pausemesh.ClaimNotFound):
        await mesh.resolve_effect(noun_id, "other", "done", evidence="x")
    for outcome, evidence, result in (
        ("maybe", "x", None),
        (["done"], "x", None),
        ("done", "", None),
        ("done", "x" * 2_001, None),
        ("done", 5, None),
        ("not_done", "x", {"ticket": 1}),
    ):
        with pytest.raises(pausemesh.InvalidRequest):
            await mesh.resolve_effect(noun_id, "book", outcome, evidence=evidence, result=result)  # type: ignore[arg-type]
    assert (await mesh.resolve_effect(noun_id, "book", "done", evidence="seen")).status == "completed"


def _boom() -> None:
    raise RuntimeError


async def test_effects_of_a_pending_question_cannot_be_resolved(mesh: Mesh) -> None:
    created = await mesh.create(payload="?")
    with pytest.raises(pausemesh.InvalidTransition):
        await mesh.resolve_effect(created.continuation.id, "book", "done", evidence="x")


async def test_many_effects_are_all_listed_and_no_other_questions(mesh: Mesh) -> None:
    first = await answered(mesh, correlation_id="c", continuation_id="q")
    other = await answered(mesh, correlation_id="c", continuation_id="q 2")
    async with mesh.claim(other) as turn:
        await turn.effect("other", run=lambda: None)
    async with mesh.claim(first) as turn:
        for number in range(205):
            await turn.effect(f"step-{number:03}", run=lambda: None)
    assert [effect.key for effect in await mesh.effects(first)] == [f"step-{number:03}" for number in range(205)]
    assert [effect.key for effect in await mesh.effects(other)] == ["other"]


async def test_an_effect_is_observed_without_its_contents(
    store: EventStore, clock: ManualClock, airline: Airline
) -> None:
    notes = Notes()
    async with pausemesh.open(store, clock=clock, observer=notes) as mesh:
        noun_id = await answered(mesh)
        async with mesh.claim(noun_id) as turn:
            await turn.effect("book", arguments={"flight": "canary", "seats": 1}, run=airline.book)
    told = [(one.noun, one.status) for one in notes.seen if one.noun != "continuation"]
    assert told == [("claim", "held"), ("effect", "started"), ("effect", "completed"), ("claim", "done")]
    assert "canary" not in repr(notes.seen)
