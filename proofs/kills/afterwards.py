"""What must still be possible after a kill: every retry finds one outcome, and nothing is stuck."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Final

from pausemesh import EffectUnknown, Mesh, PauseMeshError
from pausemesh.core.effect_events import Resolution, Resolved
from pausemesh.core.envelope import Status
from pausemesh.core.values import JsonValue
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS
from proofs.kills.told import Call
from proofs.kills.victim import PERSON, shown
from proofs.stored import Stored, effect_id

Runs = Counter[tuple[str, str]]

_WITH_A_KEY: Final = frozenset({"create", "resume", "answer", "cancel"})


async def retry_twice(mesh: Mesh, call: Call, *, had_committed: bool) -> list[str]:
    """Make an unanswered call again under its key, twice; return what is wrong with the answers."""
    if call.do not in _WITH_A_KEY or (call.do == "create" and call.arguments["key"] is None):
        return []
    first, second = await _retry(mesh, call), await _retry(mesh, call)
    flaws = []
    if had_committed and not first[1]:
        flaws.append("it had committed, but its retry did not find that")
    if not had_committed and first[1]:
        flaws.append("it had not committed, but its retry found that it had")
    if first[0] != second[0] or (not second[1] and not first[2]):
        flaws.append(f"its second retry was told something else: {first} {second}")
    return [f"{call}: {flaw}" for flaw in flaws]


async def _retry(mesh: Mesh, call: Call) -> tuple[str, bool, bool]:
    """Return what it was told, whether as the outcome of an earlier call, and whether it was refused."""
    try:
        continuation, replayed = await _again(mesh, call)
    except PauseMeshError as error:
        return f"{error.code} {getattr(error, 'recorded', None)}", False, True
    return continuation, replayed, False


async def _again(mesh: Mesh, call: Call) -> tuple[str, bool]:
    given, mark = call.arguments, call.mark
    payload: JsonValue = {"mark": mark}
    if call.do == "create":
        life = None if given["life"] is None else timedelta(seconds=given["life"])
        created = await mesh.create(payload=payload, correlation_id=mark, idempotency_key=given["key"], expires_in=life)
        return shown(created.continuation), created.replayed
    if call.do == "resume":
        outcome = await mesh.resume(given["id"], token=given["token"], idempotency_key=mark, payload=payload)
    elif call.do == "answer":
        outcome = await mesh.answer(given["id"], by=PERSON, idempotency_key=mark, payload=payload)
    else:
        outcome = await mesh.cancel(given["id"], reason=mark, by=PERSON)
    return shown(outcome.continuation), outcome.replayed


async def settle(mesh: Mesh, stored: Stored, runs: Runs) -> None:
    """Bring all that is open to its end, as workers and people would when the trouble is over.

    Raises:
        PauseMeshError: something is stuck.
    """
    while await mesh.sweep():
        pass
    states = [stream.state(CONTINUATIONS).continuation for _, _, stream in stored.of(CONTINUATIONS)]
    pending = [state.id for state in states if state.status is Status.PENDING]
    waiting = [noun_id for noun_id in pending if (await mesh.inspect(noun_id)).status is Status.PENDING]
    await asyncio.gather(*[_answer(mesh, noun_id) for noun_id in waiting])
    resumed = [state.id for state in states if state.status is Status.RESUMED]
    undone = [noun_id for noun_id in resumed if stored.find(CLAIMS, noun_id) is None]
    await asyncio.gather(*[_go_on(mesh, noun_id, stored, runs) for noun_id in [*waiting, *undone]])


def leftovers(stored: Stored, runs: Runs) -> list[str]:
    """Return what is not at its end although all was settled, and effects that ran too often."""
    found = stored.flaws()
    for _, noun_id, stream in stored.of(CONTINUATIONS):
        status = stream.state(CONTINUATIONS).continuation.status
        if status is Status.PENDING:
            found.append(f"{noun_id} is still pending")
        if status is Status.RESUMED and stored.find(CLAIMS, noun_id) is None:
            found.append(f"{noun_id} was not carried on")
    for _, name, stream in stored.of(EFFECTS):
        events = [stamped.event for stamped in stream.stamped(EFFECTS)]
        refuted = sum(isinstance(event, Resolved) and event.resolution is Resolution.NOT_DONE for event in events)
        noun_id, _, key = name.partition("/")
        if stream.state(EFFECTS).status.value != "completed":
            found.append(f"the effect {name} is {stream.state(EFFECTS).status}")
        if runs[noun_id, key] != 1:
            found.append(f"the effect {name} ran {runs[noun_id, key]} times, found not to have run {refuted} times")
    return found


async def _answer(mesh: Mesh, noun_id: str) -> None:
    await mesh.answer(noun_id, by=PERSON, idempotency_key=f"late-{noun_id}", payload=None)


async def _go_on(mesh: Mesh, noun_id: str, stored: Stored, runs: Runs) -> None:
    async with mesh.claim(noun_id) as turn:
        for key in ("first", "second"):
            if stored.find(EFFECTS, effect_id(noun_id, key)) is None:
                continue

            async def run(key: str = key) -> JsonValue:
                runs[noun_id, key] += 1
                return "afterwards"

            try:
                await turn.effect(key, run=run)
            except EffectUnknown:
                outcome = "done" if runs[noun_id, key] else "not_done"
                await turn.resolve(key, outcome, evidence="looked at what the process had said")
                await turn.effect(key, run=run)
