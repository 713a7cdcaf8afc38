"""Compares what a killed process had said with what the file holds."""

import dataclasses
from collections.abc import Iterator
from typing import assert_never

from pausemesh import continuation_to_json
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.continuation import replay
from pausemesh.core.continuation_events import Cancelled, Created, Expired, Resumed, TokenReissued
from pausemesh.core.effect_events import Started
from pausemesh.core.tokens import hash_token
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS
from proofs.kills.told import Call, Told
from proofs.stored import Stored, effect_id


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """What came of comparing: what is missing, what is too much, and the unanswered calls that had committed."""

    lost: list[str]
    unasked: list[str]
    committed: list[Call]


def compare(told: Told, stored: Stored, *, before: set[str]) -> Compared:
    """Look every call up; ``before`` are the marks that were in the file before the process began."""
    marks = set(marks_of(stored))
    asked = {_mark_of(call) for call in [*told.acknowledged, *told.unanswered]}
    return Compared(
        lost=[f"{call}: lost: {flaw}" for call in told.acknowledged for flaw in _missing(call, stored)],
        unasked=[f"stored though refused or never asked for: {mark}" for mark in marks - before - asked],
        committed=[call for call in told.unanswered if _is_there(call, stored, marks)],
    )


def marks_of(stored: Stored) -> Iterator[str]:
    """Yield the mark of each call that left something in the file."""
    for _, noun_id, stream in stored.of(CONTINUATIONS):
        for stamped in stream.stamped(CONTINUATIONS):
            match stamped.event:
                case Created(correlation_id=mark) | Resumed(idempotency_key=mark):
                    yield mark
                case Cancelled(reason=reason):
                    yield str(reason)
                case TokenReissued() | Expired():
                    pass
                case _:
                    assert_never(stamped.event)
        if stream.head is not None and stream.head.holder is not None:
            yield _claim_mark(noun_id, stream.head.holder)
    for _, noun_id, stream in stored.of(EFFECTS):
        yield from (
            _effect_mark(noun_id, stamped.event.fence)
            for stamped in stream.stamped(EFFECTS)
            if isinstance(stamped.event, Started)
        )
    for _, noun_id, stream in stored.of(CLAIMS):
        yield _done_mark(noun_id, stream.state(CLAIMS).end.worker)


def _claim_mark(noun_id: str, worker: str) -> str:
    return f"claim {noun_id} {worker}"


def _effect_mark(effect: str, fence: int) -> str:
    return f"effect {effect} {fence}"


def _done_mark(noun_id: str, worker: str) -> str:
    return f"done {noun_id} {worker}"


def _mark_of(call: Call) -> str:
    """Return what is in the file if a call took place; empty where that cannot be told from its arguments."""
    arguments = call.arguments
    match call.do:
        case "create" | "resume" | "answer" | "cancel":
            return call.mark
        case "claim":
            return _claim_mark(arguments["id"], call.mark)
        case "done":
            return _done_mark(arguments["id"], call.mark)
        case "effect":
            return _effect_mark(effect_id(arguments["id"], arguments["key"]), arguments["fence"])
        case _:
            return ""


def _is_there(call: Call, stored: Stored, marks: set[str]) -> bool:
    """Tell whether an unanswered call had committed."""
    if call.do == "effect":
        state = stored.state(EFFECTS, effect_id(call.arguments["id"], call.arguments["key"]))
        return state is not None and state.status.value == "completed" and state.fence == call.arguments["fence"]
    return _mark_of(call) in marks


def _missing(call: Call, stored: Stored) -> Iterator[str]:
    """Yield what an acknowledged call promised and the file does not hold."""
    match call.do:
        case "create":
            yield from _missing_creation(call, stored)
        case "resume" | "answer" | "cancel":
            yield from _missing_decision(call, stored)
        case "reissue":
            yield from _missing_token(call, stored)
        case "claim" | "release":
            yield from _missing_claim(call, stored)
        case "effect":
            yield from _missing_effect(call, stored)
        case "done":
            yield from _missing_end(call, stored)
        case _:
            yield "nobody knows how to look for it"


def _missing_creation(call: Call, stored: Stored) -> Iterator[str]:
    assert call.answer is not None, "it was acknowledged"
    found = stored.find(CONTINUATIONS, call.answer["id"])
    if found is None:
        yield "lost"
        return
    state = replay(found.stamped(CONTINUATIONS)[:1])
    if _shown(state.continuation) != call.answer["shown"]:
        yield f"stored as {_shown(state.continuation)}"
    if state.token_hash != hash_token(call.answer["token"]):
        yield "stored with another token"


def _missing_decision(call: Call, stored: Stored) -> Iterator[str]:
    assert call.answer is not None, "it was acknowledged"
    state = stored.state(CONTINUATIONS, call.arguments["id"])
    if state is None:
        yield "lost with its question"
    elif _shown(state.continuation) != call.answer["shown"]:
        yield f"stored as {_shown(state.continuation)}"


def _missing_token(call: Call, stored: Stored) -> Iterator[str]:
    assert call.answer is not None, "it was acknowledged"
    found = stored.find(CONTINUATIONS, call.arguments["id"])
    events = () if found is None else found.stamped(CONTINUATIONS)
    version = call.answer["version"]
    event = events[version - 1].event if len(events) >= version else None
    if not isinstance(event, TokenReissued) or event.token_hash != hash_token(call.answer["token"]):
        yield f"version {version} is {event}"


def _missing_claim(call: Call, stored: Stored) -> Iterator[str]:
    assert call.answer is not None, "it was acknowledged"
    found = stored.find(CONTINUATIONS, call.arguments["id"])
    head = None if found is None else found.head
    fence = call.arguments["fence"] if call.do == "release" else call.answer["fence"]
    if head is None or head.fence < fence:
        yield f"the head is {head}"
    elif head.fence == fence and call.do == "release" and head.holder is not None:
        yield f"still held: {head}"


def _missing_effect(call: Call, stored: Stored) -> Iterator[str]:
    assert call.answer is not None, "it was acknowledged"
    state = stored.state(EFFECTS, effect_id(call.arguments["id"], call.arguments["key"]))
    if state is None or state.status.value != "completed" or state.result != call.answer["result"]:
        yield f"stored as {state}"


def _missing_end(call: Call, stored: Stored) -> Iterator[str]:
    state = stored.state(CLAIMS, call.arguments["id"])
    wanted = (call.mark, call.arguments["fence"], call.mark)
    if state is None or (state.end.worker, state.end.fence, state.end.result.value) != wanted:
        yield f"stored as {state}"


def _shown(continuation: object) -> str:
    return canonical_bytes(continuation_to_json(continuation)).decode()  # type: ignore[arg-type]
