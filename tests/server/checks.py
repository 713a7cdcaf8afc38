"""Every check that a request passes, in the order of the contract, and how to fail it."""

import dataclasses
from collections.abc import Callable, Iterator
from enum import IntEnum, auto
from typing import Any, Final

from pausemesh.server.operation import Access, KeyUse, Operation
from tests.server.calls import ACTION, OTHER_TOKEN, Givens, Wish

Outcome = tuple[int, str]
Spoil = Callable[[Wish, Givens], None]

APPROVAL: Final = {"message": "Book it?", "action": ACTION}


class Rank(IntEnum):
    """The checks in the order of the contract."""

    TRANSPORT = auto()
    ROUTE = auto()
    AUTHENTICATION = auto()
    RATE = auto()
    DECLARED_SIZE = auto()
    MEDIA = auto()
    SIZE = auto()
    JSON = auto()
    SHAPE = auto()
    TOKEN_FORM = auto()
    OBJECT = auto()
    ROLE = auto()
    TOKEN = auto()
    REPLAY = auto()
    FENCE = auto()
    TIME = auto()
    STATE = auto()
    DIGEST = auto()
    ANSWER = auto()


@dataclasses.dataclass(frozen=True)
class Check:
    """A check, and how to fail it; two that spoil the same part of a request cannot both be failed."""

    rank: Rank
    outcome: Outcome
    part: str
    spoil: Spoil


def with_(**members: Any) -> Spoil:
    """Spoil members of the wish itself."""

    def spoil(wish: Wish, _given: Givens) -> None:
        for name, value in members.items():
            setattr(wish, name, value)

    return spoil


def with_body(**members: Any) -> Spoil:
    """Spoil members of the body."""

    def spoil(wish: Wish, _given: Givens) -> None:
        wish.body = {**wish.body, **members}

    return spoil


def with_header(name: str, value: str | None) -> Spoil:
    """Spoil a header; None leaves it out."""

    def spoil(wish: Wish, _given: Givens) -> None:
        wish.headers = {key: text for key, text in wish.headers.items() if key != name}
        if value is not None:
            wish.headers[name] = value

    return spoil


def with_role(role: str, name: str = "") -> Spoil:
    """Spoil the caller."""

    def spoil(wish: Wish, given: Givens) -> None:
        wish.key = given.key(role, name)

    return spoil


def with_object(make: Callable[[Givens], str]) -> Spoil:
    """Spoil what the request is about; its token and its digest stay right."""

    def spoil(wish: Wish, given: Givens) -> None:
        found = make(given)
        wish.aim(found)
        if "PauseMesh" in wish.headers.get("Authorization", ""):
            wish.headers = {**wish.headers, "Authorization": f"PauseMesh {given.token}"}
        if wish.body is not None and "shownDigest" in wish.body:
            wish.body = {**wish.body, "shownDigest": given.digest(found)}

    return spoil


def with_replay(make: Callable[[Givens], str]) -> Spoil:
    """Spoil a repeat: its key was used with another answer."""

    def spoil(wish: Wish, given: Givens) -> None:
        with_object(make)(wish, given)
        with_header("Idempotency-Key", "first")(wish, given)

    return spoil


def with_segment(place: int, text: str) -> Spoil:
    """Spoil a part of the path."""

    def spoil(wish: Wish, _given: Givens) -> None:
        wish.aim(text, place)

    return spoil


def with_taken_id(wish: Wish, given: Givens) -> None:
    """Spoil the id that a creation wants."""
    wish.body = {**wish.body, "continuationId": given.question()}


def with_other_action(wish: Wish, given: Givens) -> None:
    """Spoil what a claim wants to do: something else was approved."""
    wish.aim(given.resumed(APPROVAL, {"approved": True}))
    wish.body = {**wish.body, "action": {**ACTION, "arguments": {}}}


def with_query(query: str) -> Spoil:
    """Spoil the query."""

    def spoil(wish: Wish, _given: Givens) -> None:
        wish.path += f"{'&' if '?' in wish.path else '?'}{query}"

    return spoil


def everywhere(operation: Operation) -> Iterator[Check]:
    """Yield the checks that need no look at what the operation does."""
    twice = ("Last-Event-ID: a", "Last-Event-ID: a")
    yield Check(Rank.TRANSPORT, (400, "INVALID_REQUEST"), "head", with_(extra_lines=twice))
    yield Check(Rank.TRANSPORT, (414, "URI_TOO_LONG"), "query", with_query("a" * 5_000))
    yield Check(Rank.ROUTE, (404, "NOT_FOUND"), "path", with_(path="/nowhere"))
    yield Check(Rank.ROUTE, (405, "METHOD_NOT_ALLOWED"), "method", with_(method="DELETE"))
    if operation.access is not Access.PUBLIC:
        yield Check(Rank.AUTHENTICATION, (401, "UNAUTHENTICATED"), "caller", with_(key=None))
        yield Check(Rank.AUTHENTICATION, (401, "UNAUTHENTICATED"), "caller", with_(key="pmk_wrong"))
    if operation.is_limited:
        yield Check(Rank.RATE, (429, "RATE_LIMITED"), "caller", with_role("editor", "hasty"))
    yield Check(Rank.DECLARED_SIZE, (413, "PAYLOAD_TOO_LARGE"), "length", with_(declared=65_537))
    for query in ("unknown=1", *BAD_QUERIES.get(operation.name, ())):
        yield Check(Rank.SHAPE, (400, "INVALID_REQUEST"), "query", with_query(query))
    if operation.takes is not None:
        yield from in_body(operation)


def in_body(operation: Operation) -> Iterator[Check]:
    """Yield the checks of a body and what belongs to it."""
    media = (415, "UNSUPPORTED_MEDIA_TYPE")
    yield Check(Rank.MEDIA, media, "media", with_header("Content-Type", "text/plain"))
    yield Check(Rank.MEDIA, media, "media", with_header("Content-Type", "application/json; charset=latin-1"))
    yield Check(Rank.MEDIA, media, "coding", with_header("Content-Encoding", "gzip"))
    yield Check(Rank.SIZE, (413, "PAYLOAD_TOO_LARGE"), "length", with_(padding=65_536))
    yield Check(Rank.JSON, (400, "INVALID_JSON"), "syntax", with_(is_malformed=True))
    for members in ({"unknown": 1}, *BAD_MEMBERS.get(operation.name, ())):
        yield Check(Rank.SHAPE, (400, "INVALID_REQUEST"), "shape", with_body(**members))
    if operation.key is KeyUse.REQUIRED:
        required = (400, "IDEMPOTENCY_KEY_REQUIRED")
        yield Check(Rank.SHAPE, required, "key", with_header("Idempotency-Key", None))
    if operation.key is not KeyUse.NONE:
        invalid = (400, "IDEMPOTENCY_KEY_INVALID")
        yield Check(Rank.SHAPE, invalid, "key", with_header("Idempotency-Key", ""))
        yield Check(Rank.SHAPE, invalid, "head", with_(extra_lines=("Idempotency-Key: a", "Idempotency-Key: b")))


def about_object(operation: Operation) -> Iterator[Check]:
    """Yield the checks of who may do it with what."""
    if "{id}" in operation.path:
        noun = "CLAIM" if operation.path.startswith("/v1/claims") else "CONTINUATION"
        for unknown in ("unknown", "-", "a%20", "%C3%A9"):
            yield Check(Rank.OBJECT, (404, f"{noun}_NOT_FOUND"), "aim", with_segment(3, unknown))
    if "{key}" in operation.path:
        yield Check(Rank.OBJECT, (404, "CLAIM_NOT_FOUND"), "effect", with_segment(5, "-"))
    for role in REFUSED_ROLES.get(operation.name, ()):
        yield Check(Rank.ROLE, (403, "FORBIDDEN"), "caller", with_role(role, "stranger"))
    if operation.takes_token:
        form = (401, "TOKEN_MISMATCH")
        yield Check(Rank.TOKEN_FORM, form, "token", with_header("Authorization", "PauseMesh"))
        yield Check(Rank.TOKEN_FORM, form, "token", with_header("Authorization", "PauseMesh pmr_short"))
        yield Check(Rank.TOKEN_FORM, form, "token", with_header("Authorization", None))
        yield Check(Rank.TOKEN, form, "token", with_header("Authorization", f"PauseMesh {OTHER_TOKEN}"))
    yield from OF_STATE.get(operation.name, ())


def all_checks(operation: Operation) -> list[Check]:
    """Return every check of an operation that can be failed."""
    return [*everywhere(operation), *about_object(operation)]


def _state(outcome: Outcome, make: Callable[[Givens], str], rank: Rank = Rank.STATE) -> Check:
    return Check(rank, outcome, "object", with_object(make))


BAD_QUERIES: Final = {
    "listContinuations": ("limit=0", "limit=201", "limit=-1", "limit=x", "status=x", "kind=x", "dueBefore=x"),
    "showContinuation": ("wait=26", "wait=-1", "wait=x", "wait=1&wait=1"),
    "followEvents": ("after=",),
}
BAD_MEMBERS: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "createContinuation": (
        {"expiresAt": "2020-01-01T00:00:00Z"},
        {"correlationId": "\x01"},
        {"queue": "-"},
        {"answerableBy": []},
        {"payload": {"kind": "x"}},
    ),
    "cancelContinuation": ({"reason": "\x01"}, {"expectedVersion": 0}),
    "takeClaim": ({"worker": "\x01"}, {"leaseSeconds": 0}, {"action": {"name": "\x01"}}),
    "takeNextClaim": ({"worker": "\x01"}, {"leaseSeconds": 0}, {"queue": "-"}, {"wait": 26}),
    "failClaim": ({"reason": "\x01"},),
    "startEffect": ({"kind": "\x01"}, {"key": "-"}, {"fence": 0}),
    "recordOutcome": ({"status": "failed", "result": 1},),
    "resolveEffect": ({"evidence": "\x01"}, {"outcome": "not_done", "result": 1}),
}
REFUSED_ROLES: Final = {
    "createContinuation": ("viewer", "messenger"),
    "listContinuations": ("messenger",),
    "showContinuation": ("messenger", "agent"),
    "listEvents": ("messenger", "agent"),
    "resumeContinuation": ("messenger",),
    "answerContinuation": ("viewer", "agent", "messenger"),
    "cancelContinuation": ("viewer", "agent", "messenger"),
    "reissueToken": ("viewer", "agent", "messenger"),
    "takeClaim": ("viewer", "messenger"),
    "takeNextClaim": ("viewer", "messenger"),
    "renewClaim": ("viewer", "messenger"),
    "finishClaim": ("viewer", "messenger"),
    "releaseClaim": ("viewer", "messenger"),
    "failClaim": ("viewer", "messenger"),
    "startEffect": ("viewer", "messenger"),
    "recordOutcome": ("viewer", "messenger"),
    "listEffects": ("messenger", "agent"),
    "resolveEffect": ("viewer", "messenger", "agent", "editor"),
    "followEvents": ("messenger",),
}
"""Who is refused what; an agent here is one that did not ask."""

EXPIRED: Final = _state((410, "CONTINUATION_EXPIRED"), Givens.expired, Rank.TIME)
CANCELLED: Final = _state((409, "CONTINUATION_CANCELLED"), Givens.cancelled)
STALE: Final = Check(Rank.FENCE, (409, "VERSION_CONFLICT"), "version", with_body(expectedVersion=7))
LOST: Final = Check(Rank.FENCE, (409, "LEASE_LOST"), "fence", with_body(fence=1))
DIGEST: Final = Check(Rank.DIGEST, (409, "DIGEST_MISMATCH"), "digest", with_body(shownDigest="0" * 64))
ANSWER: Final = Check(Rank.ANSWER, (422, "ANSWER_INVALID"), "payload", with_body(payload={"flight": 1}))
REPEATED: Final = Check(Rank.REPLAY, (422, "IDEMPOTENCY_CONFLICT"), "object", with_replay(Givens.resumed))
REPEATED_ANSWER: Final = Check(Rank.REPLAY, (422, "IDEMPOTENCY_CONFLICT"), "object", with_replay(Givens.answered))
FORGED: Final = (400, "INVALID_CURSOR")
REMOTE: Final = {"responseSchema": {"$ref": "https://a/"}}

OF_STATE: Final[dict[str, tuple[Check, ...]]] = {
    "createContinuation": (
        Check(Rank.STATE, (409, "CONTINUATION_EXISTS"), "id", with_taken_id),
        Check(Rank.STATE, (422, "SCHEMA_NOT_ALLOWED"), "payload", with_body(payload=REMOTE)),
    ),
    "listContinuations": (Check(Rank.SHAPE, FORGED, "query", with_query("cursor=Zm9yZ2Vk")),),
    "resumeContinuation": (
        REPEATED,
        EXPIRED,
        CANCELLED,
        DIGEST,
        ANSWER,
        _state((409, "TOKEN_ALREADY_USED"), Givens.resumed),
    ),
    "answerContinuation": (REPEATED_ANSWER, EXPIRED, CANCELLED, DIGEST, ANSWER),
    "cancelContinuation": (STALE, EXPIRED, _state((409, "INVALID_TRANSITION"), Givens.resumed)),
    "reissueToken": (STALE, EXPIRED, CANCELLED),
    "takeClaim": (
        _state((409, "INVALID_TRANSITION"), Givens.question),
        _state((409, "CLAIM_HELD"), Givens.claimed),
        Check(Rank.STATE, (409, "ACTION_MISMATCH"), "object", with_other_action),
    ),
    "renewClaim": (LOST,),
    "finishClaim": (LOST,),
    "releaseClaim": (LOST,),
    "failClaim": (LOST,),
    "startEffect": (LOST, _state((409, "EFFECT_CONFLICT"), Givens.other_effect)),
    "recordOutcome": (LOST, _state((409, "INVALID_TRANSITION"), Givens.recorded)),
    "resolveEffect": (_state((409, "INVALID_TRANSITION"), Givens.recorded),),
    "followEvents": (Check(Rank.SHAPE, FORGED, "query", with_query("after=Zm9yZ2Vk")),),
}
