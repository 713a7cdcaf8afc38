"""What a file holds is read past the store, and whatever is not whole in it is found."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import pausemesh
from pausemesh import SqliteEventStore
from pausemesh.service.nouns import CONTINUATIONS, EFFECTS
from proofs.stored import from_micros, to_micros
from proofs.stored_file import StoredFile

ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a question that was answered and carried out, and one that is open."""
    asyncio.run(fill(tmp_path / "mesh.db"))
    return tmp_path / "mesh.db"


async def fill(path: Path) -> None:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        await mesh.create(payload=1, continuation_id="open")
        await mesh.create(payload=2, continuation_id="done")
        await mesh.answer("done", by=ANA, idempotency_key="k", payload=True)
        async with mesh.claim("done") as turn:
            await turn.effect("act", run=dict)
    await store.close()


def test_a_file_as_the_store_left_it_is_whole(path: Path) -> None:
    stored = StoredFile(path)
    assert stored.flaws() == []
    assert {noun_id for _, noun_id, _ in stored.of(CONTINUATIONS)} == {"open", "done"}
    effect = stored.state(EFFECTS, "done/act")
    assert effect is not None
    assert effect.status == "completed"
    assert stored.state(EFFECTS, "done/other") is None


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE heads SET status = 'cancelled' WHERE stream = 'continuation/done'",
        "UPDATE heads SET due_at = NULL WHERE stream = 'continuation/open'",
        "UPDATE heads SET version = 3 WHERE stream = 'continuation/done'",
        "UPDATE heads SET done_at = NULL WHERE stream = 'continuation/done'",
        "UPDATE heads SET holder = 'somebody else' WHERE stream = 'continuation/done'",
        "UPDATE heads SET open = 1 WHERE stream = 'effect/done/act'",
        "DELETE FROM heads WHERE stream = 'continuation/open'",
        "DELETE FROM events WHERE stream = 'continuation/done' AND version = 1",
        "DELETE FROM events WHERE stream = 'claim/done'",
        "DELETE FROM events WHERE stream = 'effect/done/act' AND version = 2",
        "DELETE FROM audit_log",
        "UPDATE events SET at = 9000000000000000 WHERE stream = 'continuation/done' AND version = 2",
        "UPDATE events SET data = CAST('{}' AS BLOB) WHERE stream = 'continuation/open'",
        "UPDATE events SET seq = 99 WHERE stream = 'continuation/done' AND version = 1",
    ],
)
def test_whatever_was_changed_is_found(path: Path, tamper: str) -> None:
    alter(path, tamper)
    assert StoredFile(path).flaws() != []


def alter(path: Path, tamper: str) -> None:
    """Change a file as its owner could who wants to hide something."""
    connection = apsw.Connection(str(path))
    triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(tamper)
    assert connection.total_changes() > 0
    connection.close()


def test_times_come_back_as_they_were() -> None:
    now = datetime(2030, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    assert from_micros(to_micros(now)) == now
    assert from_micros(0) + timedelta(microseconds=1) == from_micros(1)
