"""API keys: who may make and revoke them, whom they let in, and until when."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.core import limits
from pausemesh.core.tokens import KEY_PREFIX, format_token
from pausemesh.ports import EventStore
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.conftest import ANA, BOT, EYE, POST, ROOT, STRANGER, Notes

DAY = timedelta(days=1)


async def test_a_key_lets_its_holder_in_with_its_role_and_scope(mesh: Mesh, replica: Mesh) -> None:
    made = await mesh.create_key("editor", scope="trips", label="the desk")
    assert await replica.authenticate(made.text) == pausemesh.Principal(
        id=f"key:{made.key.id}", role=pausemesh.Role.EDITOR, scope="trips"
    )
    assert made.text.startswith("pmk_")
    assert (made.key.label, made.key.expires_at, made.key.by.kind) == ("the desk", None, "system")


@pytest.mark.parametrize("role", pausemesh.Role)
async def test_a_key_can_have_every_role(mesh: Mesh, role: pausemesh.Role) -> None:
    made = await mesh.create_key(role)
    caller = await mesh.authenticate(made.text)
    assert caller is not None
    assert (caller.role, caller.scope) == (role, "default")


async def test_a_key_belongs_to_the_scope_of_its_mesh_where_none_is_named(
    store: EventStore, clock: ManualClock
) -> None:
    async with pausemesh.open(store, clock=clock, scope="elsewhere") as other:
        made = await other.create_key("viewer")
    assert made.key.scope == "elsewhere"


async def test_whatever_is_no_key_lets_nobody_in(mesh: Mesh) -> None:
    made = await mesh.create_key("viewer")
    token = (await mesh.create(payload=None)).resume_token
    unknown = format_token(bytes(32), KEY_PREFIX)
    for text in (None, 5, "", "pmk_", made.text[:-1], made.text + " ", made.text.upper(), made.key.id, token, unknown):
        assert await mesh.authenticate(text) is None


async def test_a_key_that_expired_lets_nobody_in_from_that_instant_on(mesh: Mesh, clock: ManualClock) -> None:
    made = await mesh.create_key("viewer", expires_in=DAY)
    assert made.key.expires_at == clock.now() + DAY
    clock.advance(DAY - timedelta(milliseconds=1))
    assert await mesh.authenticate(made.text) is not None
    clock.advance(timedelta(milliseconds=1))
    assert await mesh.authenticate(made.text) is None


async def test_a_revoked_key_lets_nobody_in_and_is_revoked_once(
    mesh: Mesh, replica: Mesh, clock: ManualClock, notes: Notes
) -> None:
    made = await mesh.create_key("viewer", by=ROOT)
    clock.advance(DAY)
    revoked = await mesh.revoke_key(made.key.id, by=ROOT)
    assert revoked.revoked_at == clock.now()
    assert await mesh.authenticate(made.text) is None
    assert await replica.authenticate(made.text) is None
    clock.advance(DAY)
    assert await replica.revoke_key(made.key.id) == revoked
    assert await mesh.revoke_key(made.key.id) == revoked
    assert [(note.name, note.status, note.version) for note in notes.seen] == [
        ("created", "active", 1),
        ("transition", "revoked", 2),
    ]
    assert {note.noun_id for note in notes.seen} == {made.key.id}


@pytest.mark.parametrize("key_id", ["k_unknown", "", "a/b", "k_\n", "x" * 201])
async def test_an_unknown_key_cannot_be_revoked(mesh: Mesh, key_id: str, notes: Notes) -> None:
    with pytest.raises(pausemesh.ApiKeyNotFound):
        await mesh.revoke_key(key_id)
    assert [(note.name, note.code, note.noun_id) for note in notes.seen] == [("rejection", "NOT_FOUND", key_id)]


async def test_only_an_admin_makes_or_revokes_keys(mesh: Mesh) -> None:
    made = await mesh.create_key("viewer", by=ROOT)
    for caller in (ANA, BOT, EYE, POST):
        with pytest.raises(pausemesh.Forbidden):
            await mesh.create_key("viewer", by=caller)
        with pytest.raises(pausemesh.Forbidden):
            await mesh.revoke_key(made.key.id, by=caller)
    assert await mesh.keys() == (made.key,)


async def test_an_admin_makes_and_sees_keys_of_the_own_scope_alone(mesh: Mesh) -> None:
    made = await mesh.create_key("viewer", by=ROOT)
    with pytest.raises(pausemesh.Forbidden):
        await mesh.create_key("viewer", by=STRANGER)
    with pytest.raises(pausemesh.ApiKeyNotFound):
        await mesh.revoke_key(made.key.id, by=STRANGER)
    elsewhere = await mesh.create_key("viewer", scope=STRANGER.scope, by=STRANGER)
    assert (await mesh.revoke_key(elsewhere.key.id, by=STRANGER)).revoked_at is not None


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"role": "king"}, "/role"),
        ({"role": None}, "/role"),
        ({"scope": ".keys"}, "/scope"),
        ({"scope": 5}, "/scope"),
        ({"expires_in": timedelta(0)}, "/expiresIn"),
        ({"expires_in": timedelta(seconds=limits.KEY_LIFETIME_MAX_SECONDS, milliseconds=1)}, "/expiresIn"),
        ({"expires_in": 5}, "/expiresIn"),
        ({"label": ""}, "/label"),
        ({"label": "a\x1b[0m"}, "/label"),
        ({"label": "x" * (limits.KEY_LABEL_CHARACTERS + 1)}, "/label"),
        ({"by": "root"}, "/by"),
    ],
)
async def test_what_makes_no_key_is_refused(mesh: Mesh, words: dict[str, object], path: str) -> None:
    with pytest.raises(pausemesh.InvalidRequest) as refusal:
        await mesh.create_key(**{"role": "viewer", **words})  # type: ignore[arg-type]
    assert [issue.path for issue in refusal.value.issues] == [path]
    assert not await mesh.has_keys()


async def test_a_key_may_be_valid_for_ten_years(mesh: Mesh, clock: ManualClock) -> None:
    made = await mesh.create_key("viewer", expires_in=timedelta(seconds=limits.KEY_LIFETIME_MAX_SECONDS))
    assert made.key.expires_at == clock.now() + timedelta(days=3_650)


async def test_what_is_no_text_is_no_id_of_a_key(mesh: Mesh, notes: Notes) -> None:
    with pytest.raises(pausemesh.InvalidRequest) as refusal:
        await mesh.revoke_key(5)  # type: ignore[arg-type]
    assert refusal.value.issues[0].path == "/keyId"
    assert notes.seen[0].noun_id is None


async def test_keys_are_there_once_the_first_was_made_and_also_when_the_last_is_revoked(
    mesh: Mesh, replica: Mesh
) -> None:
    assert not await mesh.has_keys()
    made = await mesh.create_key("admin")
    assert await replica.has_keys()
    await mesh.revoke_key(made.key.id)
    assert await replica.has_keys()


async def test_keys_are_listed_oldest_first_over_all_pages(
    mesh: Mesh, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PAGE_MAX", 2)
    assert await mesh.keys() == ()
    made = []
    for scope in ("b", "a", "default", "c", "a"):
        made.append((await mesh.create_key("viewer", scope=scope)).key)
        clock.advance(DAY)
    assert await mesh.keys() == tuple(made)
    revoked = await mesh.revoke_key(made[0].id)
    assert await mesh.keys() == (revoked, *made[1:])


async def test_making_and_revoking_leave_rows_in_the_audit_log(
    mesh: Mesh, store: EventStore, clock: ManualClock
) -> None:
    made = await mesh.create_key("viewer", by=ROOT)
    clock.advance(DAY)
    await mesh.revoke_key(made.key.id)
    await mesh.revoke_key(made.key.id)
    seen = await store.list_audit(".keys")
    assert [(one.row.action, one.row.noun, one.row.noun_id, one.row.actor) for one in seen] == [
        ("key.create", "key", made.key.id, "admin:root"),
        ("key.revoke", "key", made.key.id, "system"),
    ]


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_key_whose_reply_was_lost_is_made_once_and_told(
    mesh: Mesh, store: EventStore, monkeypatch: pytest.MonkeyPatch, *, is_stored: bool
) -> None:
    append, lost = store.append, [True]

    async def flaky(*writes: Any) -> Any:
        outcome = await append(*writes) if is_stored or not lost else None
        if lost:
            lost.pop()
            raise pausemesh.OutcomeUnknown
        return outcome

    monkeypatch.setattr(type(store), "append", lambda _store, *writes: flaky(*writes))
    made = await mesh.create_key("viewer")
    assert await mesh.keys() == (made.key,)
    assert await mesh.authenticate(made.text) is not None


async def test_keys_are_among_nobodys_questions(mesh: Mesh) -> None:
    await mesh.create_key("viewer")
    assert (await mesh.list()).continuations == ()
    assert (await mesh.list(correlation_id="keys")).continuations == ()


async def test_neither_a_representation_nor_the_database_has_the_text(tmp_path: Path) -> None:
    async with pausemesh.open(tmp_path / "mesh.db") as mesh:
        made = await mesh.create_key("admin", label="the desk")
    assert made.text not in repr(made)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"the desk" in stored
    assert made.text.encode() not in stored
    assert made.text.removeprefix(KEY_PREFIX).encode() not in stored
