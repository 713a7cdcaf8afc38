"""Continuations over HTTP: asked, read, answered, taken back."""

import dataclasses
from typing import Any, Final

from msgspec import UNSET

from pausemesh.core.continuation_events import shown_event
from pausemesh.core.envelope import Continuation, Status
from pausemesh.core.errors import Forbidden, WaitTimeout
from pausemesh.core.limits import PAGE, PAGE_MAX
from pausemesh.core.principal import Role, require_may_read, require_may_read_some
from pausemesh.core.question import QuestionKind
from pausemesh.core.values import check_foreign_id
from pausemesh.server import bodies
from pausemesh.server.answer import Answer, continuation_members, embedded, json_answer
from pausemesh.server.headers import credential_of
from pausemesh.server.operation import Access, Call, KeyUse, Link, Operation
from pausemesh.server.query import Parameter, read_limit, read_one_of, read_text, read_time, read_wait
from pausemesh.service.deciding import Outcome

_DECIDED: Final = ("TOKEN_ALREADY_USED", "CONTINUATION_CANCELLED", "CONTINUATION_EXPIRED")


async def create(call: Call) -> Answer:
    """Ask."""
    body: bodies.CreateContinuation = call.body
    created = await call.mesh.create(
        payload=body.payload,
        correlation_id=_given(body.correlation_id),
        continuation_id=_given(body.continuation_id),
        expires_at=None if body.expires_at is UNSET else read_time(str(body.expires_at), "/expiresAt"),
        metadata=_given(body.metadata),
        answerable_by=_given(body.answerable_by),
        queue=_given(body.queue),
        idempotency_key=call.idempotency_key,
        by=call.principal,
    )
    members = {"continuation": continuation_members(created.continuation), "resumeToken": created.resume_token}
    return json_answer(members, status=200 if created.replayed else 201)


async def show(call: Call) -> Answer:
    """Read one, perhaps once it is decided."""
    continuation = await _readable(call)
    wait = call.query.get("wait", 0.0)
    if wait and continuation.status is Status.PENDING:
        decided = await call.serving.patiently(call.receive, _decided(call, wait))
        await call.confirm()
        continuation = decided or await call.mesh.inspect(continuation.id)
    return json_answer({"continuation": continuation_members(continuation)})


async def list_all(call: Call) -> Answer:
    """Read a page."""
    query = call.query
    if call.known.role is Role.MESSENGER and "cursor" not in query:
        raise Forbidden
    own = call.known.id if call.known.role is Role.AGENT else None
    page = await call.mesh.list(
        status=query.get("status"),
        correlation_id=query.get("correlationId"),
        kind=query.get("kind"),
        due_before=query.get("dueBefore"),
        created_by=own,
        limit=query.get("limit", PAGE),
        cursor=query.get("cursor"),
    )
    call.require(require_may_read_some)  # a cursor that is none was told before; none was ever given to another role
    found = [continuation_members(continuation) for continuation in page.continuations]
    return json_answer({"continuations": found, "nextCursor": page.next_cursor})


async def history(call: Call) -> Answer:
    """Read what happened to one."""
    await _readable(call)
    events = await call.mesh.history(call.path["id"])
    return json_answer({"events": [shown_event(stamped, embedded) for stamped in events]})


async def reissue(call: Call) -> Answer:
    """Get another token."""
    body: bodies.ReissueToken = call.body
    created = await call.mesh.reissue_token(
        call.path["id"], expected_version=_given(body.expected_version), by=call.known
    )
    return json_answer(
        {"continuation": continuation_members(created.continuation), "resumeToken": created.resume_token}
    )


async def resume(call: Call) -> Answer:
    """Answer with the token."""
    body: bodies.Resume = call.body
    outcome = await call.mesh.resume(
        call.path["id"],
        token=credential_of(call.headers, "PauseMesh") or "",
        idempotency_key=call.idempotency_key or "",
        payload=body.payload,
        shown_digest=_given(body.shown_digest),
        by=call.principal,
    )
    return _outcome(outcome)


async def answer(call: Call) -> Answer:
    """Answer as an operator."""
    body: bodies.AnswerQuestion = call.body
    outcome = await call.mesh.answer(
        call.path["id"],
        by=call.known,
        idempotency_key=call.idempotency_key or "",
        payload=body.payload,
        shown_digest=body.shown_digest,
    )
    return _outcome(outcome)


async def cancel(call: Call) -> Answer:
    """Take back."""
    body: bodies.CancelContinuation = call.body
    outcome = await call.mesh.cancel(
        call.path["id"],
        reason=_given(body.reason),
        expected_version=_given(body.expected_version),
        by=call.principal,
    )
    return json_answer({"continuation": continuation_members(outcome.continuation)})


async def _readable(call: Call) -> Continuation:
    continuation = await call.mesh.inspect(call.path["id"])
    require_may_read_it(call, continuation)
    return continuation


def require_may_read_it(call: Call, continuation: Continuation) -> None:
    """Pass a caller that may read a question.

    Raises:
        Forbidden: it may not.
    """
    call.require(lambda principal: require_may_read(principal, continuation.created_by))


async def _decided(call: Call, seconds: float) -> Continuation | None:
    try:
        return await call.mesh.wait(call.path["id"], timeout=seconds)
    except WaitTimeout:
        return None


def _outcome(outcome: Outcome) -> Answer:
    return json_answer({"continuation": continuation_members(outcome.continuation), "replayed": outcome.replayed})


def _given(value: Any) -> Any:
    return None if value is UNSET else value


_ID: Final = "/v1/continuations/{id}"
_BY_ID: Final = Link(parameters={"id": "$response.body#/continuation/continuationId"})
_LINKS: Final = {
    "showContinuation": _BY_ID,
    "listEvents": _BY_ID,
    "listEffects": _BY_ID,
    "resumeContinuation": _BY_ID,
    "answerContinuation": dataclasses.replace(
        _BY_ID, body={"payload": {"approved": True}, "shownDigest": "$response.body#/continuation/shownDigest"}
    ),
    "cancelContinuation": _BY_ID,
    "reissueToken": _BY_ID,
}
_LINKS_OF_DECIDED: Final = {"takeClaim": _BY_ID, "listEvents": _BY_ID}

OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/v1/continuations",
        name="createContinuation",
        summary="Ask a question that survives",
        about="The resume token is in this answer and in no other. Under an Idempotency-Key a repeat finds the first "
        "question, as it was created, with `resumeToken: null` and status 200. An agent that asks for approval gets no "
        "token: it does not approve itself.",
        tag="Continuations",
        handle=create,
        takes=bodies.CreateContinuation,
        key=KeyUse.OPTIONAL,
        gives={201: bodies.CreatedContinuation, 200: bodies.CreatedContinuation},
        problems=("FORBIDDEN", "CONTINUATION_EXISTS", "IDEMPOTENCY_CONFLICT", "SCHEMA_NOT_ALLOWED"),
        links=_LINKS,
    ),
    Operation(
        method="GET",
        path="/v1/continuations",
        name="listContinuations",
        summary="List questions, oldest first",
        about="Those of one correlation go by id. An agent sees its own. A page may be shorter than `limit` and still "
        "have a cursor to go on with.",
        tag="Continuations",
        handle=list_all,
        access=Access.KEYED,
        parameters=(
            Parameter(
                name="status",
                read=read_one_of(status.value for status in Status),
                schema={"enum": [status.value for status in Status]},
                about="Only those in this status.",
            ),
            Parameter(
                name="correlationId",
                read=check_foreign_id,
                schema={"type": "string"},
                about="Only those of this correlation.",
            ),
            Parameter(
                name="kind",
                read=read_one_of(kind.value for kind in QuestionKind),
                schema={"enum": [kind.value for kind in QuestionKind]},
                about="Only those of this kind.",
            ),
            Parameter(
                name="dueBefore",
                read=read_time,
                schema={"type": "string", "format": "date-time"},
                about="Only those that expire before this time.",
            ),
            Parameter(
                name="limit",
                read=read_limit,
                schema={"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE},
                about="How many a page has at most.",
            ),
            Parameter(
                name="cursor", read=read_text, schema={"type": "string"}, about="`nextCursor` of the page before."
            ),
        ),
        gives={200: bodies.ContinuationPage},
        problems=("FORBIDDEN", "INVALID_CURSOR"),
    ),
    Operation(
        method="GET",
        path=_ID,
        name="showContinuation",
        summary="Read a question, perhaps once it is decided",
        tag="Continuations",
        handle=show,
        parameters=(
            Parameter(
                name="wait",
                read=read_wait,
                schema={"type": "number", "minimum": 0, "maximum": 25, "default": 0},
                about="Answer as soon as it is decided, or after so many seconds as it then is.",
            ),
        ),
        gives={200: bodies.OneContinuation},
        problems=("FORBIDDEN", "CONTINUATION_NOT_FOUND"),
    ),
    Operation(
        method="GET",
        path=f"{_ID}/events",
        name="listEvents",
        summary="Read the history of a question",
        tag="Continuations",
        handle=history,
        gives={200: bodies.EventList},
        problems=("FORBIDDEN", "CONTINUATION_NOT_FOUND"),
    ),
    Operation(
        method="POST",
        path=f"{_ID}/resume",
        name="resumeContinuation",
        summary="Answer with the resume token",
        about="`Authorization: PauseMesh <token>`; where API keys exist, one goes into `X-API-Key`. An exact retry "
        "gets the recorded outcome, byte for byte, also after the expiry.",
        tag="Continuations",
        handle=resume,
        takes=bodies.Resume,
        links=_LINKS_OF_DECIDED,
        key=KeyUse.REQUIRED,
        takes_token=True,
        gives={200: bodies.DecidedContinuation},
        problems=(
            "TOKEN_MISMATCH",
            "FORBIDDEN",
            "CONTINUATION_NOT_FOUND",
            *_DECIDED,
            "DIGEST_MISMATCH",
            "OWNED_BY_TASK",
            "IDEMPOTENCY_CONFLICT",
            "ANSWER_INVALID",
        ),
    ),
    Operation(
        method="POST",
        path=f"{_ID}/answer",
        name="answerContinuation",
        summary="Answer as an operator",
        about="For editors and admins; no token. `shownDigest` is that of the question as it was shown.",
        tag="Continuations",
        handle=answer,
        access=Access.KEYED,
        takes=bodies.AnswerQuestion,
        links=_LINKS_OF_DECIDED,
        key=KeyUse.REQUIRED,
        is_limited=True,
        gives={200: bodies.DecidedContinuation},
        problems=(
            "FORBIDDEN",
            "CONTINUATION_NOT_FOUND",
            *_DECIDED,
            "DIGEST_MISMATCH",
            "OWNED_BY_TASK",
            "IDEMPOTENCY_CONFLICT",
            "ANSWER_INVALID",
            "RATE_LIMITED",
        ),
    ),
    Operation(
        method="POST",
        path=f"{_ID}/cancel",
        name="cancelContinuation",
        summary="Take a question back",
        about="For its creator, editors and admins.",
        tag="Continuations",
        handle=cancel,
        takes=bodies.CancelContinuation,
        gives={200: bodies.OneContinuation},
        problems=(
            "FORBIDDEN",
            "CONTINUATION_NOT_FOUND",
            "VERSION_CONFLICT",
            "INVALID_TRANSITION",
            "CONTINUATION_EXPIRED",
            "OWNED_BY_TASK",
        ),
    ),
    Operation(
        method="POST",
        path=f"{_ID}/token",
        name="reissueToken",
        summary="Get another resume token where the first was lost",
        about="The old one dies. For its creator, editors and admins; at most 8 times.",
        tag="Continuations",
        handle=reissue,
        access=Access.KEYED,
        takes=bodies.ReissueToken,
        gives={200: bodies.CreatedContinuation},
        problems=(
            "FORBIDDEN",
            "CONTINUATION_NOT_FOUND",
            "VERSION_CONFLICT",
            *_DECIDED,
            "INVALID_TRANSITION",
            "OWNED_BY_TASK",
        ),
        links=_LINKS,
    ),
)
