"""Compare-and-swap, stale caches, corrupt streams and encryption at rest."""

import asyncio
import dataclasses
import hashlib
from pathlib import Path
from uuid import UUID

import apsw
import pytest

import pausemesh
from pausemesh.core.continuation import State
from pausemesh.ports import EventStore
from pausemesh.records import Appended, Head, NewEvent, Reason, Refused, Write
from pausemesh.service import cache
from pausemesh.service.mesh import Mesh
from pausemesh.service.nouns import CONTINUATIONS
from pausemesh.testing.clock import ManualClock


async def test_who_is_always_second_is_told_so_after_some_attempts(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    created = await mesh.create(payload="?")

    async def always_second(_store: EventStore, *writes: Write) -> Refused:
        return Refused(at=clock.now(), reasons=(Reason.VERSION,), expected=(1,), actual=(2,), streams=(None,))

    monkeypatch.setattr(type(store), "append", always_second)
    with pytest.raises(pausemesh.StoreUnavailable, match="first"):
        await mesh.cancel(created.continuation.id)


async def test_a_stale_cache_refuses_nobody(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    fresh = await replica.reissue_token(created.continuation.id)
    assert fresh.resume_token is not None
    outcome = await mesh.resume(created.continuation.id, token=fresh.resume_token, idempotency_key="k", payload=1)
    assert outcome.continuation.version == 3


async def test_a_repeat_is_told_what_is_stored_and_not_what_was_remembered(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = await mesh.create(payload="?")
    assert created.resume_token is not None
    await mesh.resume(created.continuation.id, token=created.resume_token, idempotency_key="k", payload=1)

    async def gone(*_: object) -> None:
        return None

    monkeypatch.setattr(type(store), "load", gone)
    with pytest.raises(pausemesh.ContinuationNotFound):
        await mesh.resume(created.continuation.id, token=created.resume_token, idempotency_key="k", payload=1)


async def test_an_old_token_with_a_cached_state_does_not_get_through(mesh: Mesh, replica: Mesh) -> None:
    created = await mesh.create(payload="?")
    await replica.reissue_token(created.continuation.id)
    assert created.resume_token is not None
    with pytest.raises(pausemesh.TokenMismatch):
        await mesh.resume(created.continuation.id, token=created.resume_token, idempotency_key="k", payload=1)


NEW = NewEvent(id=UUID(int=1), type="continuation.created", data=b"{}")
HEAD = Head(kind="continuation", status="pending", open=True, correlation="c")


@pytest.mark.parametrize(
    ("type_name", "data", "error"),
    [
        ("continuation.created", b"not json", pausemesh.StoreCorrupt),
        ("continuation.created", b"\xff", pausemesh.StoreCorrupt),
        ("continuation.created", b"[1]", pausemesh.StoreCorrupt),
        ("continuation.created", b"{}", pausemesh.UnknownSchemaVersion),
        ("continuation.created", b'{"schemaVersion":2,"id":"q","version":1}', pausemesh.UnknownSchemaVersion),
        ("continuation.created", b'{"schemaVersion":1,"id":"other","version":1}', pausemesh.StoreCorrupt),
        ("continuation.created", b'{"schemaVersion":1,"id":"q","version":2}', pausemesh.StoreCorrupt),
        ("continuation.created", b'{"schemaVersion":1,"id":"q","version":1}', pausemesh.StoreCorrupt),
        ("continuation.expired", b'{"schemaVersion":1,"id":"q","version":1}', pausemesh.StoreCorrupt),
        ("unheard.of", b'{"schemaVersion":1,"id":"q","version":1}', pausemesh.UnknownSchemaVersion),
    ],
)
async def test_a_stored_event_that_cannot_be_read_is_a_typed_error(
    mesh: Mesh, store: EventStore, type_name: str, data: bytes, error: type[Exception]
) -> None:
    event = dataclasses.replace(NEW, type=type_name, data=data)
    await store.append(Write(scope="default", stream="continuation/q", expected_version=0, head=HEAD, events=(event,)))
    for look in (mesh.inspect("q"), mesh.history("q"), mesh.cancel("q")):
        with pytest.raises(pausemesh.StoreCorrupt) as refusal:
            await look
        assert type(refusal.value) is error
    readable = await mesh.create(payload="?")
    for filters in ({}, {"status": "pending"}):
        page = await mesh.list(**filters)  # type: ignore[arg-type]
        assert page.continuations == (readable.continuation,)


async def test_a_corrupt_stream_does_not_hold_the_sweep_up(mesh: Mesh, store: EventStore, clock: ManualClock) -> None:
    due = dataclasses.replace(HEAD, due_at=clock.now())
    await store.append(Write(scope="default", stream="continuation/q", expected_version=0, head=due, events=(NEW,)))
    other = dataclasses.replace(due, kind="pause")
    event = dataclasses.replace(NEW, id=UUID(int=2))
    await store.append(Write(scope="default", stream="pause/p", expected_version=0, head=other, events=(event,)))
    assert await mesh.sweep() == 0


class Xor:
    """No encryption worth the name, but it knows its place."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        return hashlib.sha256(context).digest() + bytes(byte ^ 0x55 for byte in data)

    def unseal(self, sealed: bytes, context: bytes) -> bytes:
        if sealed[:32] != hashlib.sha256(context).digest():
            raise pausemesh.StoreCorrupt
        return bytes(byte ^ 0x55 for byte in sealed[32:])


async def test_a_cipher_sees_every_value_on_its_way_to_the_file_and_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mesh.db'}"
    async with pausemesh.open(url, cipher=Xor()) as mesh:
        created = await mesh.create(payload="canary-question")
        assert created.resume_token is not None
        await mesh.resume(
            created.continuation.id, token=created.resume_token, idempotency_key="k", payload="canary-answer"
        )
    assert b"canary" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    async with pausemesh.open(url, cipher=Xor()) as mesh:
        seen = await mesh.inspect(created.continuation.id)
        assert (seen.payload, seen.resume_payload) == ("canary-question", "canary-answer")
    async with pausemesh.open(url) as mesh:
        with pytest.raises(pausemesh.StoreCorrupt):
            await mesh.inspect(created.continuation.id)


async def test_the_database_holds_a_tokens_hash_and_never_the_token(tmp_path: Path) -> None:
    async with pausemesh.open(f"sqlite:///{tmp_path / 'mesh.db'}") as mesh:
        tokens = []
        for _ in range(5):
            created = await mesh.create(payload="?")
            again = await mesh.reissue_token(created.continuation.id)
            assert created.resume_token is not None
            assert again.resume_token is not None
            await mesh.resume(created.continuation.id, token=again.resume_token, idempotency_key="k", payload=1)
            tokens += [created.resume_token, again.resume_token]
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not [token for token in tokens if token.encode() in raw or token[4:47].encode() in raw]
    assert all(hashlib.sha256(token.encode()).hexdigest().encode() in raw for token in tokens)


async def test_a_closed_connection_to_the_creator_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mesh.db'}"
    async with pausemesh.open(url) as mesh:
        created = await mesh.create(payload={"message": "Which?"})
    async with pausemesh.open(url) as mesh:
        assert await mesh.inspect(created.continuation.id) == created.continuation
        assert created.resume_token is not None
        outcome = await mesh.resume(created.continuation.id, token=created.resume_token, idempotency_key="k", payload=1)
        assert outcome.continuation.status == "resumed"


async def test_stored_events_can_be_neither_changed_nor_deleted(tmp_path: Path) -> None:
    path = tmp_path / "mesh.db"
    async with pausemesh.open(f"sqlite:///{path}") as mesh:
        await mesh.create(payload="?")
    with apsw.Connection(str(path)) as raw:
        raw.pragma("recursive_triggers", 1)
        for sql in ("UPDATE events SET data = x'00'", "DELETE FROM events", "DELETE FROM heads"):
            with pytest.raises(apsw.ConstraintError):
                raw.execute(sql)
    raw.close()


async def test_a_state_cache_keeps_the_latest_and_is_bounded() -> None:
    async with pausemesh.open("memory:") as mesh:
        states: list[State] = []
        for number in range(4):
            created = await mesh.create(payload="x" * 100, continuation_id=f"q{number}")
            state = await mesh._transactor.load(CONTINUATIONS, created.continuation.id)  # noqa: SLF001
            assert state is not None
            states.append(state)
    by_count = cache.StateCache(most=2)
    by_bytes = cache.StateCache(most_bytes=250)
    for bounded in (by_count, by_bytes):
        bounded.put("default", states[0])
        bounded.put("default", states[1])
        assert bounded.get("default", "q0") is states[0]
        bounded.put("default", states[2])
        kept = [bounded.get("default", f"q{number}") is not None for number in range(3)]
        assert kept == [True, False, True]
        assert bounded.get("elsewhere", "q0") is None
    later = dataclasses.replace(states[0], continuation=dataclasses.replace(states[0].continuation, version=2))
    by_count.put("default", later)
    by_count.put("default", states[0])
    assert by_count.get("default", "q0") is later


async def test_the_twentieth_of_twenty_schemas_is_compiled_like_the_first(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pausemesh.core.limits.COMPILED_SCHEMAS", 2)
    created = [await mesh.create(payload={"responseSchema": {"const": number}}) for number in range(5)]
    for number, one in enumerate(created):
        assert one.resume_token is not None
        with pytest.raises(pausemesh.AnswerInvalid):
            await mesh.resume(one.continuation.id, token=one.resume_token, idempotency_key="k", payload="no")
        await mesh.resume(one.continuation.id, token=one.resume_token, idempotency_key="k", payload=number)


async def test_a_cancelled_caller_leaves_the_mesh_usable(mesh: Mesh) -> None:
    for _ in range(20):
        task = asyncio.create_task(mesh.create(payload="?"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert (await mesh.create(payload="?")).continuation.status == "pending"


def test_what_is_exported_is_there() -> None:
    assert State.__module__ == "pausemesh.core.continuation"
    assert all(hasattr(pausemesh, name) for name in pausemesh.__all__)
    assert Appended.__doc__
