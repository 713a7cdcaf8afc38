"""A store in which everything that can happen has happened, and damage that only who owns the file can do."""

from datetime import timedelta
from pathlib import Path

import apsw

from pausemesh.core.principal import Principal, Role
from pausemesh.core.values import JsonValue
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ROOT

HOUR = timedelta(hours=1)
SHORT = timedelta(seconds=5)
TRIGGERS = (
    "heads_refuse_delete",
    "events_refuse_update",
    "events_refuse_delete",
    "audit_log_refuse_update",
)


def damage(path: Path, sql: str) -> None:
    """Do to a file what its triggers forbid, as somebody could who owns it, and put them back."""
    connection = apsw.Connection(str(path))
    kept = [str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).get) for name in TRIGGERS]
    for name in TRIGGERS:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(sql)
    for trigger in kept:
        connection.execute(trigger)
    connection.close()


def on_head(stream: str, changes: str) -> str:
    """The statement that changes the head of a stream; a name without a slash is a question's."""
    return f"UPDATE heads SET {changes} WHERE scope = 'default' AND stream = '{full(stream)}';"  # noqa: S608 - our words


def on_event(stream: str, version: int, changes: str) -> str:
    """The statement that changes an event."""
    where = f"scope = 'default' AND stream = '{full(stream)}' AND version = {version}"
    return f"UPDATE events SET {changes} WHERE {where};"  # noqa: S608 - our words


def on_audit(noun_id: str, changes: str) -> str:
    """The statement that changes the rows of the audit log about a question."""
    return f"UPDATE audit_log SET {changes} WHERE scope = 'default' AND noun_id = '{noun_id}';"  # noqa: S608 - our words


def in_data(stream: str, version: int, old: str, new: str) -> str:
    """The statement that puts one text for another into the data of an event."""
    return on_event(stream, version, f"data = CAST(replace(CAST(data AS TEXT), '{old}', '{new}') AS BLOB)")


def without_events(stream: str, where: str = "1") -> str:
    """The statement that removes events of a stream."""
    return f"DELETE FROM events WHERE scope = 'default' AND stream = '{full(stream)}' AND {where};"  # noqa: S608 - our words


def without_head(stream: str) -> str:
    """The statement that removes the head of a stream."""
    return f"DELETE FROM heads WHERE scope = 'default' AND stream = '{full(stream)}';"  # noqa: S608 - our words


def full(stream: str) -> str:
    return stream if "/" in stream else f"continuation/{stream}"


async def live(mesh: Mesh, clock: ManualClock) -> None:
    """Leave questions in every state, with claims and effects in every state, keys, and another scope."""
    for noun_id in ("pending", "reissued", "cancelled", "expired"):
        await ask(mesh, noun_id)
    await mesh.reissue_token("reissued")
    await mesh.cancel("cancelled", by=ROOT, reason="no more")
    clock.advance(2 * HOUR)
    await mesh.sweep()
    await ask(mesh, "pending_still")
    await answered(mesh, "resumed")
    clock.advance(timedelta(microseconds=1))
    await answered(mesh, "held")
    await mesh.fenced.take("held", worker="ann", lease=HOUR)
    await answered(mesh, "done")
    async with mesh.claim("done", worker="ann") as turn:
        clock.advance(timedelta(seconds=1))
        await turn.effect("a", arguments={"x": 1}, run=lambda x: {"got": x})
        await turn.effect("b", run=lambda: None)
        await turn.done({"result": 1})
    await doubted(mesh, "doubted", clock)
    key = await mesh.create_key("editor", label="desk")
    await mesh.create_key("viewer", expires_in=HOUR)
    await mesh.revoke_key(key.key.id)
    await answered(mesh.in_scope("elsewhere"), "done")


async def ask(mesh: Mesh, noun_id: str) -> None:
    payload: JsonValue = {"message": f"What of {noun_id}?", "kind": "input"}
    await mesh.create(continuation_id=noun_id, payload=payload, expires_in=HOUR, queue="q", metadata={"é": [1.5, None]})


async def answered(mesh: Mesh, noun_id: str) -> None:
    await ask(mesh, noun_id)
    ana = Principal(id="ana", role=Role.EDITOR, scope=mesh.scope)
    await mesh.answer(noun_id, by=ana, idempotency_key="k", payload={"ok": "ü"})


async def doubted(mesh: Mesh, noun_id: str, clock: ManualClock) -> None:
    """Leave a lapsed second claim with an effect that was started and one that failed."""
    await answered(mesh, noun_id)
    await mesh.fenced.take(noun_id, worker="bob", lease=SHORT)
    clock.advance(SHORT)
    await mesh.fenced.take(noun_id, worker="cyd", lease=SHORT)
    await mesh.fenced.start_effect(noun_id, 2, key="x", arguments={"n": 1})
    await mesh.fenced.start_effect(noun_id, 2, key="y")
    await mesh.fenced.record_outcome(noun_id, 2, "y", completed=False)
    clock.advance(SHORT)
