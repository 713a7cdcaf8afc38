"""Claims and effects over HTTP: the right to go on, and what is done with it."""

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import UNSET

from pausemesh.core import effect as ledger
from pausemesh.core.envelope import Continuation
from pausemesh.core.error_base import PauseMeshError
from pausemesh.core.values import time_to_text
from pausemesh.records import Lease
from pausemesh.server import bodies
from pausemesh.server.answer import Answer, continuation_members, embedded, json_answer
from pausemesh.server.operation import Access, Call, KeyUse, Link, Operation
from pausemesh.server.routes.continuations import require_may_read_it


async def take(call: Call) -> Answer:
    """Take the claim of one decision."""
    body: bodies.TakeClaim = call.body
    continuation, lease = await call.mesh.fenced.take(
        call.path["id"],
        worker=body.worker,
        lease=timedelta(seconds=body.lease_seconds),
        action=None if body.action is UNSET else msgspec.to_builtins(body.action),
        by=call.principal,
    )
    return _taken(continuation, lease)


async def take_next(call: Call) -> Answer:
    """Take the claim of the next decision of a queue."""
    body: bodies.TakeNextClaim = call.body
    work = call.mesh.fenced.take_next(
        body.queue,
        worker=body.worker,
        lease=timedelta(seconds=body.lease_seconds),
        timeout=body.wait,
        by=call.principal,
    )
    if not body.wait:
        taken = await work
    else:
        taken = await call.serving.patiently(call.receive, work)
        await _confirm(call, taken)
    return Answer(status=204, headers=()) if taken is None else _taken(*taken)


async def renew(call: Call) -> Answer:
    """Hold on."""
    body: bodies.RenewClaim = call.body
    lease = await call.mesh.fenced.renew(
        call.path["id"], body.fence, lease=timedelta(seconds=body.lease_seconds), by=call.principal
    )
    return json_answer({"claim": _held(lease)})


async def finish(call: Call) -> Answer:
    """End for good."""
    body: bodies.FinishClaim = call.body
    continuation = await call.mesh.fenced.finish(call.path["id"], body.fence, result=body.result, by=call.principal)
    claim = continuation.claim
    assert claim is not None, "a claim that was finished is there"
    return json_answer(
        {
            "claim": {
                "claimId": continuation.id,
                "continuationId": continuation.id,
                "worker": claim.worker,
                "fence": claim.fence,
                "status": claim.status.value,
                **_optional("doneAt", claim.done_at),
            }
        }
    )


async def release(call: Call) -> Answer:
    """Give back."""
    lease = await call.mesh.fenced.release(call.path["id"], call.body.fence, by=call.principal)
    return json_answer({"claim": _open(lease)})


async def fail(call: Call) -> Answer:
    """Give back, since it did not work."""
    body: bodies.FailClaim = call.body
    reason = None if body.reason is UNSET else str(body.reason)
    lease = await call.mesh.fenced.fail(call.path["id"], body.fence, reason=reason, by=call.principal)
    return json_answer({"claim": _open(lease)})


async def start_effect(call: Call) -> Answer:
    """Be about to do something."""
    body: bodies.StartEffect = call.body
    effect, is_repeat = await call.mesh.fenced.start_effect(
        call.path["id"],
        body.fence,
        key=body.key,
        kind=None if body.kind is UNSET else str(body.kind),
        arguments=None if isinstance(body.arguments, msgspec.UnsetType) else body.arguments,
        attempt=call.idempotency_key,
        by=call.principal,
    )
    return json_answer({"effect": _effect(effect), "replayed": is_repeat})


async def record_outcome(call: Call) -> Answer:
    """Say what came of it."""
    body: bodies.RecordOutcome = call.body
    effect = await call.mesh.fenced.record_outcome(
        call.path["id"],
        body.fence,
        call.path["key"],
        completed=body.status == "completed",
        result=body.result,
        by=call.principal,
    )
    return json_answer({"effect": _effect(effect)})


async def list_effects(call: Call) -> Answer:
    """Read the ledger."""
    require_may_read_it(call, await call.mesh.inspect(call.path["id"]))
    effects = await call.mesh.effects(call.path["id"])
    return json_answer({"effects": [ledger.effect_members(effect, embedded) for effect in effects]})


async def resolve(call: Call) -> Answer:
    """Settle a doubt."""
    body: bodies.ResolveEffect = call.body
    effect = await call.mesh.resolve_effect(
        call.path["id"],
        call.path["key"],
        body.outcome,
        evidence=body.evidence,
        result=body.result,
        by=call.known,
    )
    return json_answer({"effect": _effect(effect)})


async def _confirm(call: Call, taken: tuple[Continuation, Lease] | None) -> None:
    """Pass a caller that may still go on after it waited; from any other the claim is taken back."""
    try:
        await call.confirm()
    except PauseMeshError:
        if taken is not None:
            continuation, lease = taken
            await call.mesh.fenced.release(continuation.id, lease.fence)
        raise


def _taken(continuation: Continuation, lease: Lease) -> Answer:
    return json_answer({"claim": _held(lease), "continuation": continuation_members(continuation)})


def _held(lease: Lease) -> dict[str, Any]:
    return {**_claim(lease), "status": "held", "leaseUntil": time_to_text(lease.until)}


def _open(lease: Lease) -> dict[str, Any]:
    return {**_claim(lease), "status": "open"}


def _claim(lease: Lease) -> dict[str, Any]:
    continuation_id = lease.stream.partition("/")[2]
    return {
        "claimId": continuation_id,
        "continuationId": continuation_id,
        "worker": lease.worker,
        "fence": lease.fence,
    }


def _effect(effect: ledger.Effect) -> dict[str, Any]:
    members: dict[str, Any] = {"key": effect.key, "kind": effect.kind, "status": effect.status.value}
    if effect.result_document is not None:
        members["result"] = msgspec.Raw(effect.result_document.data)
    return members


def _optional(name: str, value: datetime | None) -> dict[str, Any]:
    return {} if value is None else {name: time_to_text(value)}


_LEASE_PROBLEMS: Final = ("FORBIDDEN", "CLAIM_NOT_FOUND", "LEASE_LOST")
_OF_CLAIM: Final = {"id": "$response.body#/claim/claimId"}
_FENCE: Final = "$response.body#/claim/fence"
_CLAIM_LINKS: Final = {
    "renewClaim": Link(parameters=_OF_CLAIM, body={"fence": _FENCE, "leaseSeconds": 60}),
    "finishClaim": Link(parameters=_OF_CLAIM, body={"fence": _FENCE}),
    "releaseClaim": Link(parameters=_OF_CLAIM, body={"fence": _FENCE}),
    "failClaim": Link(parameters=_OF_CLAIM, body={"fence": _FENCE}),
    "startEffect": Link(parameters=_OF_CLAIM, body={"fence": _FENCE, "key": "book"}),
}
_EFFECT_LINKS: Final = {
    "recordOutcome": Link(
        parameters={"id": "$request.path.id", "key": "$response.body#/effect/key"},
        body={"fence": "$request.body#/fence", "status": "completed"},
    ),
    "resolveEffect": Link(
        parameters={"id": "$request.path.id", "key": "$response.body#/effect/key"},
        body={"outcome": "done", "evidence": "somebody looked"},
    ),
}

OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/v1/continuations/{id}/claim",
        name="takeClaim",
        summary="Take the right to go on with a decision",
        about="One holder at a time; it lapses at `leaseUntil` unless it is renewed. `action` is compared with the one "
        "that was approved.",
        tag="Claims",
        handle=take,
        takes=bodies.TakeClaim,
        gives={200: bodies.TakenClaim},
        problems=("FORBIDDEN", "CONTINUATION_NOT_FOUND", "INVALID_TRANSITION", "ACTION_MISMATCH", "CLAIM_HELD"),
        links=_CLAIM_LINKS,
    ),
    Operation(
        method="POST",
        path="/v1/claims",
        name="takeNextClaim",
        summary="Take the decision that has been ready longest in a queue",
        about="204 where none is ready within `wait` seconds.",
        tag="Claims",
        handle=take_next,
        takes=bodies.TakeNextClaim,
        gives={200: bodies.TakenClaim, 204: None},
        problems=("FORBIDDEN",),
        links=_CLAIM_LINKS,
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/renew",
        name="renewClaim",
        summary="Go on holding a claim",
        tag="Claims",
        handle=renew,
        takes=bodies.RenewClaim,
        gives={200: bodies.OneClaim},
        problems=_LEASE_PROBLEMS,
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/done",
        name="finishClaim",
        summary="End a claim for good",
        about="The same again finds it ended.",
        tag="Claims",
        handle=finish,
        takes=bodies.FinishClaim,
        gives={200: bodies.OneClaim},
        problems=(*_LEASE_PROBLEMS, "INVALID_TRANSITION"),
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/release",
        name="releaseClaim",
        summary="Give a claim back",
        tag="Claims",
        handle=release,
        takes=bodies.ReleaseClaim,
        gives={200: bodies.OneClaim},
        problems=_LEASE_PROBLEMS,
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/fail",
        name="failClaim",
        summary="Give a claim back because this worker cannot go on",
        about="Why is kept. The same again finds it given back.",
        tag="Claims",
        handle=fail,
        takes=bodies.FailClaim,
        gives={200: bodies.OneClaim},
        problems=_LEASE_PROBLEMS,
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/effects",
        name="startEffect",
        summary="Announce an effect before it happens",
        about="`started`: make it happen now, then record its outcome. `completed`: here is the recorded result, do "
        "nothing. Under an Idempotency-Key this call may be repeated after a lost answer. Any other start of an effect "
        "that has no outcome yet is EFFECT_UNKNOWN: two would make it happen twice.",
        tag="Effects",
        handle=start_effect,
        takes=bodies.StartEffect,
        links=_EFFECT_LINKS,
        key=KeyUse.OPTIONAL,
        gives={200: bodies.StartedEffect},
        problems=(*_LEASE_PROBLEMS, "ACTION_MISMATCH", "EFFECT_UNKNOWN", "EFFECT_CONFLICT", "INVALID_TRANSITION"),
    ),
    Operation(
        method="POST",
        path="/v1/claims/{id}/effects/{key}/outcome",
        name="recordOutcome",
        summary="Record what came of an effect",
        about="`failed` says that it surely did not happen; it may then be started again.",
        tag="Effects",
        handle=record_outcome,
        takes=bodies.RecordOutcome,
        gives={200: bodies.OneEffect},
        problems=(*_LEASE_PROBLEMS, "INVALID_TRANSITION"),
    ),
    Operation(
        method="GET",
        path="/v1/continuations/{id}/effects",
        name="listEffects",
        summary="Read the ledger of a question's effects",
        tag="Effects",
        handle=list_effects,
        gives={200: bodies.EffectList},
        problems=("FORBIDDEN", "CONTINUATION_NOT_FOUND"),
    ),
    Operation(
        method="POST",
        path="/v1/continuations/{id}/effects/{key}/resolve",
        name="resolveEffect",
        summary="Settle an effect that is in doubt, with evidence",
        about="For admins, after somebody looked at what really happened.",
        tag="Effects",
        handle=resolve,
        access=Access.KEYED,
        takes=bodies.ResolveEffect,
        gives={200: bodies.OneEffect},
        problems=("FORBIDDEN", "CONTINUATION_NOT_FOUND", "CLAIM_NOT_FOUND", "INVALID_TRANSITION"),
    ),
)
