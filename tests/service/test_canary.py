"""A secret in every field that may hold one, and a search for it wherever it must not be."""

import logging
import traceback
from collections.abc import Awaitable

import pytest

from pausemesh.core.values import JsonValue
from pausemesh.ports import EventStore
from pausemesh.service.mesh import Mesh
from tests.service.conftest import BOT, ROOT, Notes

CANARY = "canary-7f3a"


class Net:
    """Keeps whatever an operator, a log or another caller would see of an error."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def refused(self, attempt: Awaitable[object]) -> None:
        with pytest.raises(Exception) as refusal:  # noqa: PT011 - whatever it is, it must not tell
            await attempt
        error = refusal.value
        self.seen += [str(error), repr(error), "".join(traceback.format_exception(error))]


async def live(mesh: Mesh, net: Net) -> list[str]:
    """Do everything once, well and badly, with the secret in each field; return the tokens."""
    schema: JsonValue = {"type": "object", "properties": {"pin": {"const": CANARY}}, "required": ["pin"]}
    created = await mesh.create(payload={"message": CANARY, "responseSchema": schema}, metadata={"m": CANARY}, by=BOT)
    noun_id, token = created.continuation.id, created.resume_token
    assert token is not None
    wrong = {"pin": CANARY + "!", "more": [CANARY]}
    await net.refused(mesh.create(payload=CANARY, continuation_id=noun_id))
    await net.refused(mesh.create(payload={"message": CANARY, "kind": CANARY}))
    await net.refused(mesh.create(payload={"a": float("nan"), "b": CANARY}))
    await net.refused(mesh.create(payload={"responseSchema": {"frobnicate": CANARY, "$ref": CANARY}}))
    await net.refused(mesh.resume(noun_id, token=token + CANARY, idempotency_key="k", payload=CANARY))
    await net.refused(mesh.resume(noun_id, token=token, idempotency_key="k", payload=wrong))
    await net.refused(mesh.answer(noun_id, by=BOT, idempotency_key="k", payload={"pin": CANARY}))
    await mesh.resume(noun_id, token=token, idempotency_key="k", payload={"pin": CANARY})
    await net.refused(mesh.resume(noun_id, token=token, idempotency_key="k", payload={"pin": CANARY, "x": CANARY}))
    await net.refused(mesh.resume(noun_id, token=token, idempotency_key="k2", payload={"pin": CANARY}))
    await go_on(mesh, net, noun_id)
    other = await mesh.create(payload=CANARY)
    again = await mesh.reissue_token(other.continuation.id)
    await mesh.cancel(other.continuation.id, reason=CANARY, by=ROOT)
    await net.refused(mesh.cancel(other.continuation.id, reason=CANARY + "!"))
    assert other.resume_token is not None
    assert again.resume_token is not None
    return [token, other.resume_token, again.resume_token]


async def go_on(mesh: Mesh, net: Net, noun_id: str) -> None:
    """Claim, run effects well and badly, settle one, and finish."""

    def fail(**_: object) -> None:
        raise ConnectionError

    async with mesh.claim(noun_id) as turn:
        await turn.effect("a", arguments={"x": CANARY}, run=lambda x: {"got": x})
        await net.refused(turn.effect("a", arguments={"x": CANARY + "!"}, run=fail))
        await net.refused(turn.effect("b", arguments={"x": CANARY}, run=fail))
        await net.refused(turn.effect("b", arguments={"x": CANARY}, run=fail))
        await turn.resolve("b", "done", evidence=CANARY, result={"got": CANARY})
        await net.refused(turn.resolve("b", "not_done", evidence=CANARY))
        await turn.done({"result": CANARY})
        await net.refused(turn.done({"result": CANARY + "!"}))
        net.seen.append(repr(turn.continuation) + repr(await mesh.effects(noun_id)) + repr(turn))
    await net.refused(mesh.claim(noun_id).__aenter__())
    net.seen.append(repr(await mesh.history(noun_id)) + repr(await mesh.inspect(noun_id)))


async def test_no_secret_is_anywhere_but_in_the_store_and_in_what_its_reader_asks_for(
    mesh: Mesh, notes: Notes, store: EventStore, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    net = Net()
    tokens = await live(mesh, net)
    audit = repr(await store.list_audit("default"))
    out, err = capfd.readouterr()
    visible = "\n".join([*net.seen, repr(notes.seen), audit, caplog.text, out, err])
    lines = [line for line in visible.splitlines() if CANARY in line and "CANARY" not in line]
    assert lines == []
    assert not [token for token in tokens if token in visible]
    assert len(notes.seen) > 20
    assert audit.count("RecordedAudit") == 1
