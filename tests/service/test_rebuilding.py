"""Heads that were damaged or lost are written anew from the log; what the log does not tell stays, and is told."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import apsw
import pytest

import pausemesh
from pausemesh.core import limits
from pausemesh.core.errors import ClaimDone, LeaseLost
from pausemesh.ports import EventStore
from pausemesh.records import ClaimColumns, Examined, Lease, Restoring
from pausemesh.service.findings import Finding
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA
from tests.service.damaging import (
    HOUR,
    answered,
    ask,
    damage,
    live,
    on_event,
    on_head,
    without_events,
    without_head,
)

EFFECT = "effect/doubted/x"
Stored = dict[tuple[str, str], Examined]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.db"


@pytest.fixture
async def file(path: Path, clock: ManualClock) -> AsyncIterator[EventStore]:
    opened = await pausemesh.SqliteEventStore.open(path, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def lived(file: EventStore, clock: ManualClock) -> AsyncIterator[Mesh]:
    """A mesh on a file in which everything has happened."""
    async with pausemesh.open(file, clock=clock) as mesh:
        await live(mesh, clock)
        yield mesh


async def everything(store: EventStore) -> Stored:
    names = await store.list_names(limit=1_000)
    return dict(zip(names, await store.examine(names), strict=True))


def without_claims(stored: Stored) -> Stored:
    return {
        name: one
        if one.head is None
        else dataclasses.replace(one, head=dataclasses.replace(one.head, claim=ClaimColumns()))
        for name, one in stored.items()
    }


async def claim_of(store: EventStore, noun_id: str) -> ClaimColumns:
    [stored] = await store.examine([("default", f"continuation/{noun_id}")])
    assert stored.head is not None
    return stored.head.claim


def remaining(findings: Sequence[Finding]) -> list[str]:
    return [f"{finding.flaw} {finding.stream}" if finding.stream else finding.flaw.value for finding in findings]


async def test_nothing_is_written_where_nothing_is_wrong(mesh: Mesh, store: EventStore, clock: ManualClock) -> None:
    await live(mesh, clock)
    before = await everything(store)
    report = await mesh.rebuild()
    assert (report.heads, report.mended, report.overtaken, report.is_sound) == (0, (), 0, True)
    assert await everything(store) == before


async def test_heads_that_say_something_else_are_written_anew_on_every_store(
    mesh: Mesh, store: EventStore, clock: ManualClock
) -> None:
    await live(mesh, clock)
    before = await everything(store)
    for stored in before.values():
        assert stored.head is not None
        wrong = dataclasses.replace(stored.head.head, status="x", open=not stored.head.head.open, queue="y", owner="z")
        restoring = Restoring(seen=stored.head, head=dataclasses.replace(stored.head, head=wrong))
        assert await store.restore_heads(restoring) == [True]
    dry = await mesh.rebuild(dry_run=True)
    assert (dry.heads, dry.is_sound, set(dry.mended)) == (len(before), True, set(before))
    assert (await mesh.verify()).found > len(before)
    report = await mesh.rebuild()
    assert dataclasses.replace(report, dry_run=True) == dry
    assert await everything(store) == before
    assert (await mesh.verify()).is_sound
    assert (await mesh.rebuild()).heads == 0


@pytest.mark.parametrize(
    "changes",
    [
        "status = 'pending', open = 1",
        "kind = 'x', correlation = 'y', trace = 'z'",
        "token_hash = NULL, due_at = 7",
        "created_at = 1, updated_at = 2",
        "done_at = CASE WHEN stream = 'continuation/done' THEN NULL ELSE done_at END",
        "done_at = done_at - 1",
        "version = 1",
    ],
)
async def test_a_damaged_head_becomes_what_it_was(lived: Mesh, file: EventStore, path: Path, changes: str) -> None:
    before = await everything(file)
    damage(path, f"UPDATE heads SET {changes}")  # noqa: S608 - our words
    assert not (await lived.verify()).is_sound
    assert (await lived.rebuild()).is_sound
    assert await everything(file) == before
    assert (await lived.verify()).is_sound


async def test_where_all_heads_were_lost_everything_goes_on(
    lived: Mesh, file: EventStore, path: Path, clock: ManualClock
) -> None:
    before = await everything(file)
    created = await lived.create(payload="?")
    key = await lived.create_key("editor")
    damage(path, "DELETE FROM heads")
    report = await lived.rebuild()
    assert (report.heads, report.is_sound) == (len(before) + 2, True)
    after = await everything(file)
    assert without_claims({name: after[name] for name in before}) == without_claims(before)
    assert (await lived.verify()).is_sound
    async with pausemesh.open(file, clock=clock) as fresh:
        assert created.resume_token is not None
        await fresh.resume(created.continuation.id, token=created.resume_token, idempotency_key="k", payload=1)
        assert await fresh.authenticate(key.text) is not None
        with pytest.raises(ClaimDone) as done:
            await fresh.claim("done").__aenter__()
        assert done.value.result == {"result": 1}
        async with fresh.claim("held") as turn:
            assert turn.fence == limits.FENCE_LEAP + 1
        assert [effect.status for effect in await fresh.effects("doubted")] == ["started", "failed"]


async def test_the_claims_of_lost_heads_are_what_the_log_knows_of_them(
    lived: Mesh, file: EventStore, path: Path
) -> None:
    done = await claim_of(file, "done")
    damage(path, "DELETE FROM heads")
    await lived.rebuild()
    assert await claim_of(file, "done") == dataclasses.replace(done, lease_until=None)
    assert await claim_of(file, "doubted") == ClaimColumns(fence=2 + limits.FENCE_LEAP, attempts=2)
    assert await claim_of(file, "held") == ClaimColumns(fence=limits.FENCE_LEAP)
    assert await claim_of(file, "pending_still") == ClaimColumns()


async def test_a_worker_of_before_can_record_nothing_after_its_head_was_lost(
    lived: Mesh, path: Path, clock: ManualClock
) -> None:
    damage(path, without_head("held"))
    await lived.rebuild()
    _, lease = await lived.fenced.take("held", worker="bob", lease=HOUR)
    assert lease.fence > 1
    with pytest.raises(LeaseLost):
        await lived.fenced.finish("held", 1, result="late")
    await lived.fenced.finish("held", lease.fence, result="in time")
    assert clock.now() < lease.until


async def test_a_claim_that_somebody_holds_is_kept(lived: Mesh, file: EventStore, path: Path) -> None:
    held = await claim_of(file, "held")
    assert held.holder == "ann"
    damage(path, "UPDATE heads SET status = 'x'")
    await lived.rebuild()
    assert await claim_of(file, "held") == held


async def test_a_fence_below_one_of_the_log_leaps_beyond_all_that_were_handed_out(
    lived: Mesh, file: EventStore, path: Path
) -> None:
    damage(path, on_head("doubted", "fence = 0, attempts = 0"))
    assert (await lived.rebuild()).mended == (("default", "continuation/doubted"),)
    assert await claim_of(file, "doubted") == ClaimColumns(fence=2 + limits.FENCE_LEAP, attempts=2)


async def test_a_claim_that_is_done_gets_its_fence_and_holder_back(lived: Mesh, file: EventStore, path: Path) -> None:
    done = await claim_of(file, "done")
    damage(path, on_head("done", "fence = 0, holder = NULL, done_at = NULL"))
    await lived.rebuild()
    assert await claim_of(file, "done") == dataclasses.replace(done, lease_until=None)


async def test_a_claim_whose_event_cannot_be_read_is_done_all_the_same(
    lived: Mesh, file: EventStore, path: Path
) -> None:
    done = await claim_of(file, "done")
    damage(path, on_event("claim/done", 1, "data = x'00'") + without_head("done"))
    report = await lived.rebuild()
    assert remaining(report.remaining) == ["unreadable claim/done"]
    assert await claim_of(file, "done") == ClaimColumns(fence=1, attempts=1, done_at=done.done_at)


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        (on_event("pending", 1, "data = x'00'"), "unreadable {}/pending"),
        (without_events("pending", "version = 2"), "medium, versions {}/pending"),
        (without_events("pending"), "medium, events_missing {}/pending"),
        (without_events("claim/done"), "medium, events_missing claim/done"),
        (on_head("held", "done_at = 1"), "events_missing claim/held"),
        (on_head("held", "fence = -1"), "unreadable {}/held"),
        (on_head("held", "stream = CAST(x'ff' AS TEXT)"), "unreadable"),
        (on_head("resumed", "version = 3"), "versions {}/resumed"),
    ],
)
async def test_what_the_log_does_not_tell_stays_and_is_told(
    lived: Mesh, file: EventStore, path: Path, sql: str, left: str
) -> None:
    damage(path, sql)
    rows = heads(path)
    for _ in range(2):
        report = await lived.rebuild()
        assert remaining(report.remaining) == left.replace("{}", "continuation").split(", ")
        assert (report.heads, report.is_sound) == (0, False)
    assert heads(path) == rows
    assert await file.last_seq() <= 31


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        # a question would be open again whose answer was removed
        (without_events("resumed", "version = 2") + without_head("resumed"), "medium, head_missing {}/resumed"),
        # somebody may have finished with the question
        (
            on_event("claim/done", 1, "at = 9223372036854775807") + without_head("done"),
            "unreadable claim/done, head_missing {}/done",
        ),
        # nobody knows to what the effect belongs
        (
            on_event("doubted", 1, "data = x'00'") + without_head(EFFECT),
            f"unreadable {{}}/doubted, question {EFFECT}, question effect/doubted/y, head_missing {EFFECT}",
        ),
    ],
)
async def test_a_lost_head_is_not_guessed(lived: Mesh, path: Path, sql: str, left: str) -> None:
    damage(path, sql)
    report = await lived.rebuild()
    assert sorted(remaining(report.remaining)) == sorted(left.replace("{}", "continuation").split(", "))
    assert report.heads == 0


async def test_many_effects_are_all_looked_at_for_their_fence(
    mesh: Mesh, store: EventStore, clock: ManualClock
) -> None:
    await answered(mesh, "many")
    await ask(mesh, "many_more")
    for fence in (1, 2):
        await mesh.fenced.take("many", worker="ann", lease=HOUR)
        for index in range(limits.EXAMINED_STREAMS):
            await mesh.fenced.start_effect("many", fence, key=f"{fence}{index:03}")
        clock.advance(HOUR)
    [stored] = await store.examine([("default", "continuation/many")])
    assert stored.head is not None
    low = dataclasses.replace(stored.head, claim=dataclasses.replace(stored.head.claim, fence=0))
    await store.restore_heads(Restoring(seen=stored.head, head=low))
    assert (await mesh.rebuild()).heads == 1
    assert (await claim_of(store, "many")).fence == 2 + limits.FENCE_LEAP


class Overtaking(pausemesh.MemoryEventStore):
    """A store in which somebody else is first, a few times."""

    times = 0

    async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
        if self.times:
            self.times -= 1
            lease = await self.take("default", "continuation/a", "other", HOUR)
            assert isinstance(lease, Lease)
            await self.release(lease)
        return await super().restore_heads(*restorings)


@pytest.mark.parametrize(("times", "outcome"), [(0, (2, 0)), (2, (2, 0)), (3, (1, 1))])
async def test_a_head_that_changes_meanwhile_is_looked_at_again_a_few_times(
    clock: ManualClock, times: int, outcome: tuple[int, int]
) -> None:
    store = Overtaking(clock)
    async with pausemesh.open(store, clock=clock) as mesh:
        await answered(mesh, "a")
        await answered(mesh, "b")
        for stored in (await everything(store)).values():
            assert stored.head is not None
            wrong = dataclasses.replace(stored.head, head=dataclasses.replace(stored.head.head, queue="x"))
            await store.restore_heads(Restoring(seen=stored.head, head=wrong))
        store.times = times
        report = await mesh.rebuild()
        assert (report.heads, report.overtaken) == outcome
        assert report.is_sound is (report.overtaken == 0)
        assert (await claim_of(store, "a")).fence == times


async def test_a_head_that_somebody_mended_meanwhile_is_left_alone(clock: ManualClock) -> None:
    class Mended(pausemesh.MemoryEventStore):
        """A store in which a decision puts the head right, just before."""

        async def restore_heads(self, *restorings: Restoring) -> Sequence[bool]:
            async with pausemesh.open(self, clock=clock) as other:
                await other.answer("a", by=ANA, idempotency_key="k", payload=1)
            return await super().restore_heads(*restorings)

    store = Mended(clock)
    async with pausemesh.open(store, clock=clock) as mesh:
        await ask(mesh, "a")
        [stored] = await store.examine([("default", "continuation/a")])
        assert stored.head is not None
        wrong = dataclasses.replace(stored.head, head=dataclasses.replace(stored.head.head, queue="x"))
        await pausemesh.MemoryEventStore.restore_heads(store, Restoring(seen=stored.head, head=wrong))
        report = await mesh.rebuild()
        assert (report.heads, report.overtaken, report.is_sound) == (0, 0, True)
        assert (await mesh.verify()).is_sound


async def test_who_uses_the_file_meanwhile_is_not_overwritten(file: EventStore, path: Path, clock: ManualClock) -> None:
    async with pausemesh.open(file, clock=clock) as mesh, pausemesh.open(path, clock=clock) as other:
        for index in range(40):
            await ask(mesh, f"q{index:02}")
        damage(path, "UPDATE heads SET queue = 'x'")

        async def decide(noun_id: str) -> None:
            await other.answer(noun_id, by=ANA, idempotency_key="k", payload=1)
            async with other.claim(noun_id) as turn:
                await turn.effect("a", run=lambda: 1)

        deciding = asyncio.gather(*[decide(f"q{index:02}") for index in range(0, 40, 2)])
        while not deciding.done():
            await mesh.rebuild()
        await deciding
        await mesh.rebuild()
        assert (await mesh.verify()).is_sound
        assert len((await mesh.list(status="resumed")).continuations) == 20


async def test_more_heads_than_are_listed_are_counted(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FINDINGS", 2)
    for noun_id in ("a", "b", "c"):
        await ask(mesh, noun_id)
    for stored in (await everything(store)).values():
        assert stored.head is not None
        wrong = dataclasses.replace(stored.head, head=dataclasses.replace(stored.head.head, queue="x"))
        await store.restore_heads(Restoring(seen=stored.head, head=wrong))
    report = await mesh.rebuild()
    assert (report.heads, len(report.mended)) == (3, 2)


def heads(path: Path) -> list[tuple[object, ...]]:
    """The heads as they are stored, a name that is no text as bytes."""
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT CAST(stream AS BLOB), version, fence, done_at, status FROM heads").fetchall()
    connection.close()
    return [tuple(row) for row in rows]
