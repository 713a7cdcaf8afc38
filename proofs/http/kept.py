"""What an acknowledged request promised, looked up in the file."""

from collections.abc import Iterator

from pausemesh import continuation_to_json
from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.continuation import replay
from pausemesh.core.continuation_events import TokenReissued
from pausemesh.core.tokens import hash_token
from pausemesh.service.nouns import CONTINUATIONS, EFFECTS
from proofs.http.places import Places, finishes
from proofs.http.request import STRICT
from proofs.http.told import Asked, Heard
from proofs.stored import Stored, effect_id


def missing(asked: Asked, stored: Stored, places: Places) -> Iterator[str]:
    """Yield what a success promised and the file does not hold."""
    if not asked.granted:
        return
    first = asked.granted[0]
    is_anothers = asked.do == "start" and first.body["effect"]["status"] == "completed"
    if asked.do in STRICT and places.seq_of(asked) is None and not is_anothers:
        yield "not stored"
        return
    for answer in asked.granted:
        yield from _missing(asked, answer, stored)


def _missing(asked: Asked, answer: Heard, stored: Stored) -> Iterator[str]:
    match asked.do:
        case "create":
            yield from _missing_creation(answer, stored)
        case "resume" | "answer" | "cancel":
            state = stored.state(CONTINUATIONS, asked.about["id"])
            if state is None or _shown(state.continuation) != _told(answer):
                yield f"stored as {state}"
        case "token":
            yield from _missing_token(asked, answer, stored)
        case "claim" | "release":
            yield from _missing_claim(asked, answer, stored)
        case "start" | "outcome":
            yield from _missing_effect(asked, answer, stored)
        case "done":
            ends = [(end.fence, end.result.value) for end in finishes(stored, asked.about["id"])]
            if ends != [(asked.about["fence"], asked.mark)]:
                yield f"stored as {ends}"
        case _:
            pass


def _missing_creation(answer: Heard, stored: Stored) -> Iterator[str]:
    found = stored.find(CONTINUATIONS, answer.body["continuation"]["continuationId"])
    if found is None:
        yield "stored under another id"
        return
    state = replay(found.stamped(CONTINUATIONS)[:1])
    if _shown(state.continuation) != _told(answer):
        yield f"stored as {_shown(state.continuation)!r}"
    token = answer.body["resumeToken"]
    if token is not None and state.token_hash != hash_token(token):
        yield "stored with another token"
    if (token is None) is not (answer.status == 200):
        yield "a repeat shows a token, or a creation shows none"


def _missing_token(asked: Asked, answer: Heard, stored: Stored) -> Iterator[str]:
    found = stored.find(CONTINUATIONS, asked.about["id"])
    version = answer.body["continuation"]["version"]
    events = () if found is None else found.stamped(CONTINUATIONS)
    event = events[version - 1].event if len(events) >= version else None
    if not isinstance(event, TokenReissued) or event.token_hash != hash_token(answer.body["resumeToken"]):
        yield f"version {version} is {event}"


def _missing_claim(asked: Asked, answer: Heard, stored: Stored) -> Iterator[str]:
    found = stored.find(CONTINUATIONS, asked.about["id"])
    head = None if found is None else found.head
    fence = answer.body["claim"]["fence"]
    if head is None or head.fence < fence:
        yield f"the head is {head}"
    elif head.fence == fence and asked.do == "release" and head.holder is not None:
        yield f"still held: {head}"
    elif head.fence == fence and asked.do == "claim" and head.holder not in {asked.mark, None}:
        yield f"held by another under the same fence: {head}"


def _missing_effect(asked: Asked, answer: Heard, stored: Stored) -> Iterator[str]:
    state = stored.state(EFFECTS, effect_id(asked.about["id"], asked.about["key_of_effect"]))
    if state is None:
        yield "the effect is not there"
    elif answer.body["effect"]["status"] == "completed" and state.result != answer.body["effect"]["result"]:
        yield f"stored as {state}"


def _shown(continuation: object) -> bytes:
    return canonical_bytes(continuation_to_json(continuation))  # type: ignore[arg-type]


def _told(answer: Heard) -> bytes:
    return canonical_bytes(answer.body["continuation"])
