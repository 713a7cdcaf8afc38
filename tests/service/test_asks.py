"""Ask and go on, wait, and list, as a host uses them."""

import asyncio
import dataclasses
import threading
import traceback
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, TypedDict
from uuid import UUID

import msgspec
import pytest

import pausemesh
from pausemesh.core.cursor import write_cursor
from pausemesh.core.envelope import Status
from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore
from pausemesh.service.asking import CreatedContinuation
from pausemesh.service.bound_call import require_takes_one
from pausemesh.service.mesh import Mesh
from pausemesh.service.reads import Filters
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, Notes

DAY = timedelta(days=1)


@dataclasses.dataclass
class Flight:
    flight: str
    seats: int = 1


class FlightDict(TypedDict):
    flight: str


class FlightStruct(msgspec.Struct):
    flight: str
    seats: int = 1


class Cat(msgspec.Struct, tag=True):
    name: str


class Dog(msgspec.Struct, tag=True):
    name: str


class LikePydantic:
    """What is recognised of a pydantic model."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value

    @classmethod
    def model_json_schema(cls) -> dict[str, JsonValue]:
        return {"type": "object", "properties": {"flight": {"type": "string"}}, "required": ["flight"]}

    @classmethod
    def model_validate(cls, value: JsonValue) -> "LikePydantic":
        if value == {"flight": "none"}:
            raise ValueError(value)
        return cls(value)


async def only_pending(mesh: Mesh) -> pausemesh.Continuation:
    while not (page := await mesh.list(status="pending")).continuations:
        await asyncio.sleep(0)
    [continuation] = page.continuations
    return continuation


async def desk(mesh: Mesh, answer: JsonValue) -> pausemesh.Continuation:
    question = await only_pending(mesh)
    await mesh.answer(question.id, by=ANA, idempotency_key="k", payload=answer, shown_digest=question.shown_digest)
    return question


@pytest.mark.parametrize(
    ("answer", "given", "got"),
    [
        (Flight, {"flight": "AZ1"}, Flight(flight="AZ1")),
        (FlightStruct, {"flight": "AZ1", "seats": 2}, FlightStruct(flight="AZ1", seats=2)),
        (FlightDict, {"flight": "AZ1"}, {"flight": "AZ1"}),
        (Cat | Dog, {"type": "Dog", "name": "Rex"}, Dog(name="Rex")),
        (str, "AZ1", "AZ1"),
        (bool, True, True),
        (list[int], [1, 2], [1, 2]),
        (Literal["a", "b"], "b", "b"),
        (dict[int, str], {"1": "x"}, {1: "x"}),
        ({"type": "integer"}, 5, 5),
        (True, None, None),
        (None, {"any": "thing"}, {"any": "thing"}),
    ],
)
async def test_an_answer_comes_in_the_type_that_was_asked_for(
    mesh: Mesh, replica: Mesh, answer: object, given: JsonValue, got: object
) -> None:
    answering = asyncio.create_task(desk(replica, given))
    async with mesh.ask("Which flight?", answer=answer, key="trip-42") as turn:
        assert turn.answer == got
    question = await answering
    assert isinstance(question.payload, dict)
    assert question.payload["message"] == "Which flight?"
    assert ("responseSchema" in question.payload) is (answer is not None)


async def test_a_model_with_methods_of_its_own_is_used_by_them(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, {"flight": "AZ1"}))
    assert (await mesh.ask("Which?", answer=LikePydantic, key="k")).value == {"flight": "AZ1"}
    await answering


async def test_an_answer_that_fits_the_schema_and_not_the_type_is_told_so(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, {"flight": "none"}))
    with pytest.raises(pausemesh.AnswerMismatch) as refusal:
        await mesh.ask("Which?", answer=LikePydantic, key="k")
    assert "none" not in str(refusal.value)
    await answering


class WithADate(LikePydantic):
    """A model whose schema relies on a format that nothing checks."""

    @classmethod
    def model_json_schema(cls) -> dict[str, JsonValue]:
        return {"type": "object", "properties": {"on": {"type": "string", "format": "date"}}}


async def test_a_model_with_a_text_form_cannot_be_asked_for(mesh: Mesh) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        mesh.ask("When?", answer=WithADate, key="k")


@dataclasses.dataclass
class Picky:
    flight: str

    def __post_init__(self) -> None:
        raise KeyError(self.flight)


async def test_what_a_types_own_code_raises_is_not_passed_on(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, {"flight": "canary"}))
    with pytest.raises(pausemesh.AnswerMismatch) as refusal:
        await mesh.ask("Which?", answer=Picky, key="k")
    assert "canary" not in "".join(traceback.format_exception(refusal.value))
    await answering


@pytest.mark.parametrize(
    "answer", [datetime, date, UUID, Decimal, bytes, list[datetime], dict[str, UUID], msgspec.Raw], ids=str
)
async def test_what_no_schema_can_hold_an_answer_to_cannot_be_asked_for(mesh: Mesh, answer: type) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        mesh.ask("When?", answer=answer, key="k")
    assert (await mesh.list()).continuations == ()


@pytest.mark.parametrize(
    "members",
    [
        {"question": 5},
        {"question": b"?"},
        {"question": None},
        {"action": 5},
        {"action": ["book"]},
        {"notify": 5},
        {"notify": lambda: None},
        {"answerable_by": 5},
        {"answer": [[]]},
        {"key": 5},
        {"key": None},
        {"lease": 5},
        {"worker": 5},
        {"timeout": "soon"},
    ],
)
async def test_bad_members_of_an_ask_are_refused_before_anything_is_stored(mesh: Mesh, members: dict[str, Any]) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.ask(**{"question": "?", "key": "k", "timeout": 0, **members}).__aenter__()
    assert (await mesh.list()).continuations == ()


async def test_a_plain_function_is_told_in_a_thread_of_its_own(mesh: Mesh) -> None:
    told: list[tuple[str, bool]] = []

    def notify(created: CreatedContinuation) -> None:
        told.append((created.continuation.id, threading.current_thread() is threading.main_thread()))

    with pytest.raises(pausemesh.WaitTimeout):
        await mesh.ask("Which?", key="k", notify=notify, timeout=0)
    assert told == [((await only_pending(mesh)).id, False)]


async def test_what_has_no_schema_cannot_be_asked_for(mesh: Mesh) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        mesh.ask("Which?", answer=lambda: None, key="k")
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.ask({"message": "?", "responseSchema": True}, answer=str, key="k")


async def test_two_that_ask_under_one_key_share_the_question_and_go_on_one_at_a_time(mesh: Mesh, replica: Mesh) -> None:
    notified: list[str] = []
    inside: list[int] = []

    async def notify(created: CreatedContinuation) -> None:
        assert created.resume_token is not None
        notified.append(created.continuation.id)

    async def work(which: Mesh) -> str:
        try:
            async with which.ask("Which?", key="trip", notify=notify) as turn:
                inside.append(turn.fence)
                await asyncio.sleep(0.01)
                assert len(inside) == 1
                await turn.done({"by": turn.worker})
                return "worked"
        except pausemesh.ClaimDone as done:
            return f"was done: {done.result is not None}"

    workers = [asyncio.create_task(work(which)) for which in (mesh, replica, mesh)]
    await desk(mesh, 1)
    assert sorted([await worker for worker in workers]) == ["was done: True", "was done: True", "worked"]
    assert (inside, len(notified)) == ([1], 1)


async def test_the_next_under_the_key_goes_on_where_the_first_failed(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, 1))
    with pytest.raises(RuntimeError):
        async with mesh.ask("Which?", key="trip"):
            raise RuntimeError
    await answering
    async with replica.ask("Which?", key="trip") as turn:
        assert (turn.answer, turn.fence) == (1, 2)


async def test_a_standby_takes_over_when_the_lease_has_lapsed(mesh: Mesh, replica: Mesh, clock: ManualClock) -> None:
    answering = asyncio.create_task(desk(replica, 1))
    lease = timedelta(seconds=60)
    fences = []
    with pytest.raises(pausemesh.LeaseLost):
        async with mesh.ask("Which?", key="trip", lease=lease) as turn:
            fences.append(turn.fence)

            async def stand_by() -> None:
                async with replica.ask("Which?", key="trip", lease=lease) as other:
                    fences.append(other.fence)

            standby = asyncio.create_task(stand_by())
            await asyncio.sleep(0.02)
            clock.advance(lease)
            await standby
    await answering
    assert fences == [1, 2]


async def test_waiting_for_a_held_claim_ends_with_the_timeout(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, 1))
    async with mesh.ask("Which?", key="trip"):
        with pytest.raises(pausemesh.WaitTimeout):
            async with replica.ask("Which?", key="trip", timeout=0.01):
                pass
    await answering


async def test_expired_and_cancelled_are_raised_and_never_returned(
    mesh: Mesh, replica: Mesh, clock: ManualClock
) -> None:
    created = await mesh.create(payload="?", expires_in=DAY)
    asked = asyncio.create_task(mesh.ask("Which?", key="a", expires_in=2 * DAY).answer())
    other = asyncio.create_task(mesh.ask("Which?", key="b", expires_in=3 * DAY).answer())
    while len(page := (await replica.list(status="pending")).continuations) < 3:
        await asyncio.sleep(0)
    for question in page:
        if question.expires_at == clock.now() + 3 * DAY:
            await replica.cancel(question.id)
    with pytest.raises(pausemesh.Cancelled):
        await other
    clock.advance(2 * DAY)
    assert await replica.sweep() == 2
    with pytest.raises(pausemesh.Expired) as refusal:
        await asked
    assert refusal.value.expires_at == clock.now()
    assert (await mesh.inspect(created.continuation.id)).status == "expired"


async def test_a_timeout_is_no_answer_and_null_is_one(mesh: Mesh) -> None:
    for _ in range(2):
        with pytest.raises(pausemesh.WaitTimeout):
            await mesh.ask("Which?", key="k", timeout=0)
    question = await only_pending(mesh)
    await mesh.answer(question.id, by=ANA, idempotency_key="k", payload=None)
    assert await mesh.ask("Which?", key="k", timeout=timedelta(seconds=5)) is None
    assert (await mesh.inspect(question.id)).resume_payload is None


async def test_an_answer_given_before_anybody_waits_is_kept(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    await mesh.answer(created.continuation.id, by=ANA, idempotency_key="k", payload="early")
    assert (await replica.wait(created.continuation.id)).resume_payload == "early"


async def test_an_answer_to_one_question_wakes_nobody_who_waits_for_another(mesh: Mesh, replica: Mesh) -> None:
    first, second = await mesh.create(payload="1"), await mesh.create(payload="2")
    waiting = asyncio.create_task(replica.wait(second.continuation.id))
    await mesh.answer(first.continuation.id, by=ANA, idempotency_key="k", payload=1)
    with pytest.raises(pausemesh.WaitTimeout):
        await mesh.wait(second.continuation.id, timeout=0.01)
    assert not waiting.done()
    await mesh.answer(second.continuation.id, by=ANA, idempotency_key="k", payload=2)
    assert (await waiting).resume_payload == 2


async def test_a_double_answer_never_reaches_the_next_question(mesh: Mesh) -> None:
    first = await mesh.create(payload="Q1", correlation_id="run")
    await mesh.answer(first.continuation.id, by=ANA, idempotency_key="k", payload=1)
    second = await mesh.create(payload="Q2", correlation_id="run")
    assert (await mesh.answer(first.continuation.id, by=ANA, idempotency_key="k", payload=1)).replayed
    assert (await mesh.inspect(second.continuation.id)).status == "pending"


async def test_any_length_of_time_may_be_waited(mesh: Mesh) -> None:
    created = await mesh.create(payload="?", expires_in=timedelta(milliseconds=1))
    waiting = [mesh.wait(created.continuation.id, timeout=long) for long in (10**400, float("inf"), timedelta.max)]
    await mesh.cancel(created.continuation.id)
    assert {one.status for one in await asyncio.gather(*waiting)} == {"cancelled"}


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", True, -DAY])
async def test_a_timeout_is_a_time(mesh: Mesh, timeout: object) -> None:
    created = await mesh.create(payload="?")
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.wait(created.continuation.id, timeout=timeout)  # type: ignore[arg-type]


async def test_a_wait_ends_at_the_deadline_by_itself() -> None:
    async with pausemesh.open("memory:") as mesh:
        created = await mesh.create(payload="?", expires_in=timedelta(milliseconds=30))
        assert (await mesh.wait(created.continuation.id)).status == "expired"


async def test_an_approval_is_asked_with_its_action(mesh: Mesh, replica: Mesh) -> None:
    answering = asyncio.create_task(desk(replica, {"approved": True}))
    booked: list[str] = []
    async with mesh.ask("Book AZ1?", action={"name": "book", "arguments": {"flight": "AZ1"}}, key="k") as turn:
        assert turn.answer == {"approved": True}
        await turn.effect("book", arguments={"flight": "AZ1"}, run=lambda flight: booked.append(flight))
    question = await answering
    assert question.question.kind == "approval"
    assert booked == ["AZ1"]


async def test_pages_go_through_everything_once_in_order_of_creation(
    mesh: Mesh, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for number in range(25):
        ids.append((await mesh.create(payload=number, correlation_id=f"c{number % 2}")).continuation.id)
        clock.advance(timedelta(seconds=1 + number % 3))
    for decided in ids[::5]:
        await mesh.answer(decided, by=ANA, idempotency_key="k", payload=1)

    async def walk(**filters: object) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = await mesh.list(limit=4, cursor=cursor, **filters)  # type: ignore[arg-type]
            assert len(page.continuations) <= 4
            found += [one.id for one in page.continuations]
            if (cursor := page.next_cursor) is None:
                return found

    assert await walk() == ids
    monkeypatch.setattr("pausemesh.core.limits.FEED_MAX", 7)
    assert await walk() == ids
    assert await walk(status="pending") == [one for one in ids if one not in ids[::5]]
    assert await walk(status="resumed") == ids[::5]
    assert sorted(await walk(correlation_id="c1")) == sorted(ids[1::2])
    assert await walk(correlation_id="c1", status="resumed") == sorted(set(ids[::5]) & set(ids[1::2]))
    assert await walk(status="cancelled") == await walk(correlation_id="none") == await walk(kind="approval") == []


async def test_a_question_whose_head_is_lost_hides_no_other(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch, notes: Notes
) -> None:
    lost, kept = [await mesh.create(payload=number) for number in range(2)]
    load_many = store.load_many

    async def without_the_first(refs: Any) -> Any:
        return [
            None if stream is None or lost.continuation.id in stream.stream else stream
            for stream in await load_many(refs)
        ]

    monkeypatch.setattr(type(store), "load_many", lambda _store, refs: without_the_first(refs))
    for filters in ({}, {"status": "pending"}):
        page = await mesh.list(**filters)  # type: ignore[arg-type]
        assert [one.id for one in page.continuations] == [kept.continuation.id]
    assert [one.code for one in notes.seen if one.name == "rejection"] == ["STORE_CORRUPT"] * 2


async def test_lists_filter_by_kind_and_deadline(mesh: Mesh, clock: ManualClock) -> None:
    soon = await mesh.create(payload={"kind": "approval"}, expires_in=DAY)
    later = await mesh.create(payload={"kind": "input"}, expires_in=3 * DAY)
    by_kind = await mesh.list(kind="approval", status="pending")
    by_due = await mesh.list(due_before=clock.now() + 2 * DAY)
    assert (
        [one.id for one in by_kind.continuations] == [one.id for one in by_due.continuations] == [soon.continuation.id]
    )
    all_due = await mesh.list(due_before=clock.now() + 4 * DAY, correlation_id=later.continuation.correlation_id)
    assert [one.id for one in all_due.continuations] == [later.continuation.id]


async def test_a_cursor_belongs_to_its_list(mesh: Mesh, store: EventStore, clock: ManualClock) -> None:
    for _ in range(3):
        await mesh.create(payload="?", correlation_id="c")
    cursor = (await mesh.list(status="pending", limit=1)).next_cursor
    assert cursor is not None
    for filters in ({}, {"status": "resumed"}, {"status": "pending", "kind": "input"}):
        with pytest.raises(pausemesh.InvalidCursor):
            await mesh.list(cursor=cursor, **filters)  # type: ignore[arg-type]
    async with pausemesh.open(store, clock=clock, scope="elsewhere") as other:
        with pytest.raises(pausemesh.InvalidCursor):
            await other.list(status="pending", cursor=cursor)
    for bad in ("x", "", cursor[:-1], cursor + "A"):
        with pytest.raises(pausemesh.InvalidCursor):
            await mesh.list(status="pending", cursor=bad)


@pytest.mark.parametrize(
    "filters",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": -1},
        {"limit": True},
        {"limit": "5"},
        {"status": "open"},
        {"status": [["deep"]]},
        {"kind": 5},
        {"kind": "riddle"},
        {"correlation_id": ""},
        {"due_before": "soon"},
    ],
)
async def test_bad_filters_are_refused(mesh: Mesh, filters: dict[str, object]) -> None:
    with pytest.raises(pausemesh.InvalidRequest):
        await mesh.list(**filters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("filters", "position"),
    [
        ({}, "1"),
        ({}, True),
        ({}, [1]),
        ({"status": "pending"}, 1),
        ({"status": "pending"}, ["soon", "q"]),
        ({"status": "pending"}, ["2026-01-01T00:00:00+00:00", 5]),
        ({"status": "pending"}, ["2026-01-01T00:00:00+00:00"]),
        ({"correlation_id": "c"}, 5),
    ],
)
async def test_a_cursor_made_by_somebody_who_knows_the_key_still_needs_a_position(
    mesh: Mesh, filters: dict[str, str], position: JsonValue
) -> None:
    listing = Filters(
        status=Status(filters["status"]) if "status" in filters else None, correlation_id=filters.get("correlation_id")
    )
    forged = write_cursor(pausemesh.Policy().cursor_keys, listing.as_json("default"), position)
    with pytest.raises(pausemesh.InvalidCursor):
        await mesh.list(cursor=forged, **filters)  # type: ignore[arg-type]


async def test_a_correlations_questions_are_looked_through_to_their_end(mesh: Mesh) -> None:
    for _ in range(7):
        await mesh.create(payload="?", correlation_id="c")
    wanted = await mesh.create(payload={"kind": "approval"}, correlation_id="c")
    page = await mesh.list(correlation_id="c", kind="approval", limit=2)
    assert [one.id for one in page.continuations] == [wanted.continuation.id]
    assert page.next_cursor is None


async def test_a_page_that_looks_through_much_and_finds_nothing_has_a_cursor_to_go_on(mesh: Mesh) -> None:
    for _ in range(250):
        await mesh.create(payload="?")
    wanted = await mesh.create(payload={"kind": "approval"})
    found: list[str] = []
    pages, cursor = 0, None
    while pages == 0 or cursor is not None:
        page = await mesh.list(status="pending", kind="approval", limit=1, cursor=cursor)
        found += [one.id for one in page.continuations]
        pages, cursor = pages + 1, page.next_cursor
    assert found == [wanted.continuation.id]
    assert pages > 1


def test_a_function_that_does_not_tell_its_parameters_is_taken_at_its_word() -> None:
    require_takes_one(dict, "/notify")
