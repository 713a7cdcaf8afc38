r"""A FastAPI app with users of its own, in which a refund waits until a colleague approves it.

    SHOP_SECRET=$(openssl rand -hex 32) uvicorn --app-dir examples --timeout-graceful-shutdown 5 fastapi_app:app

Ana may ask, and Bo may decide:

    curl -c ana -X POST localhost:8000/login -H 'Content-Type: application/json' -d '{"name": "ana"}'
    curl -b ana -X POST localhost:8000/refunds -H 'Content-Type: application/json' -d '{"order": "A-17", "euros": 40}'
    curl -c bo -X POST localhost:8000/login -H 'Content-Type: application/json' -d '{"name": "bo"}'
    curl -b bo localhost:8000/pauses/v1/continuations/refund-A-17
    curl -b bo -X POST localhost:8000/pauses/v1/continuations/refund-A-17/answer -H 'Idempotency-Key: bo-1' \
        -H 'Content-Type: application/json' -d '{"payload": {"approved": true}, "shownDigest": "..."}'

A refund is a line in payments.txt. Kill the app at any moment and start it again: what was asked is still asked, what
was approved is paid once, and a payment that was cut off in the middle becomes a question that Bo finds at
localhost:8000/pauses/v1/continuations?status=pending.
"""

import asyncio
import contextlib
import hashlib
import hmac
import logging
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, Field

import pausemesh
from pausemesh.app import Unauthenticated, create_app

DATABASE = "sqlite:///shop.db"
PAYMENTS = Path("payments.txt")
SECRET = os.environ.get("SHOP_SECRET", secrets.token_hex(32)).encode()
LEASE = timedelta(seconds=60)  # how long a refund waits when its worker was killed
WORKERS = 4
ROLES = {"ana": pausemesh.Role.AGENT, "bo": pausemesh.Role.EDITOR}  # who asks never decides


# ---- the app's own login: a signed cookie


def signed(name: str) -> str:
    """Return a name with a signature."""
    return f"{name}.{hmac.new(SECRET, name.encode(), hashlib.sha256).hexdigest()}"


class Login:
    """Tells PauseMesh who is signed in; the app's own routes ask it, too."""

    async def authenticate(self, scope: Mapping[str, Any]) -> pausemesh.Principal | None:
        """Return the user of a request, None without a cookie."""
        cookie = Request(dict(scope)).cookies.get("session")
        if cookie is None:
            return None
        name = cookie.partition(".")[0]
        if name not in ROLES or not hmac.compare_digest(cookie.encode(), signed(name).encode()):
            raise Unauthenticated
        return pausemesh.Principal(id=f"user:{name}", role=ROLES[name])


async def signed_in(request: Request) -> pausemesh.Principal:
    """Return the user of one of the app's own routes."""
    try:
        user = await Login().authenticate(request.scope)
    except Unauthenticated:
        user = None
    if user is None:
        raise HTTPException(401)
    return user


User = Annotated[pausemesh.Principal, Depends(signed_in)]


# ---- the work: paid once, or a question to a person


class Seen(BaseModel):
    """What somebody saw who looked whether a payment took place."""

    paid: bool
    evidence: str = Field(description="Where you looked, and what you saw.", min_length=1, max_length=2_000)


def pay(order: str, euros: int) -> str:
    """Pay: your own call to the bank stands here."""
    with PAYMENTS.open("a", encoding="utf-8") as payments:
        payments.write(f"{order} {euros}\n")
        payments.flush()
        os.fsync(payments.fileno())
    return f"paid {euros} for {order}"


async def refund(mesh: pausemesh.Mesh) -> None:
    """Wait for the next decision about a refund, and go on with it."""
    async with mesh.claim_next("refunds", lease=LEASE) as turn:
        decided: Any = turn.continuation
        if not decided.resume_payload["approved"]:
            return
        arguments = decided.payload["action"]["arguments"]
        try:
            await turn.effect("refund", arguments=arguments, run=pay)
        except pausemesh.EffectUnknown:
            await look(mesh, turn)
            await turn.effect("refund", arguments=arguments, run=pay)


async def look(mesh: pausemesh.Mesh, turn: pausemesh.Turn[Any]) -> None:
    """Let a person settle what was cut off; each start has a question of its own."""
    [effect] = await mesh.effects(turn.continuation.id)
    seen = await mesh.ask(
        f"{turn.continuation.id} was cut off in the middle. Was it paid?",
        answer=Seen,
        key=f"{turn.continuation.id}:{effect.attempts}",
        answerable_by=["operator"],
        expires_in=timedelta(days=90),
    )
    await turn.resolve("refund", "done" if seen.paid else "not_done", evidence=seen.evidence)


async def work(mesh: pausemesh.Mesh) -> None:
    """Carry out one refund after the other, for as long as the app lives."""
    while True:
        try:
            await refund(mesh)
        except Exception:
            logging.getLogger(__name__).exception("a refund has to wait")
            await asyncio.sleep(LEASE.total_seconds())


# ---- the app


@contextlib.asynccontextmanager
async def lifespan(host: FastAPI) -> AsyncIterator[None]:
    """Open the mesh, mount it, and let the workers run, for as long as the app lives."""
    async with pausemesh.open(DATABASE) as mesh:
        pauses = create_app(mesh, authenticator=Login())
        host.mount("/pauses", pauses)
        host.state.mesh = mesh
        workers = [asyncio.create_task(work(mesh)) for _ in range(WORKERS)]
        try:
            async with pauses.running():
                yield
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)


app = FastAPI(lifespan=lifespan)


class Name(BaseModel):
    """Who wants to sign in."""

    name: str


class Refund(BaseModel):
    """What is to be paid back."""

    order: str = Field(pattern=r"^[A-Z0-9-]{1,40}$")
    euros: int = Field(ge=1, le=1_000)


@app.post("/login", status_code=204)
async def login(who: Name, response: Response) -> None:
    """Sign in: your check of a password, or your identity provider, stands here."""
    if who.name not in ROLES:
        raise HTTPException(401)
    response.set_cookie("session", signed(who.name), httponly=True, samesite="strict")  # and secure=True behind TLS


@app.post("/refunds", status_code=202)
async def ask_for_refund(wanted: Refund, user: User, request: Request) -> dict[str, str]:
    """Start a refund: it is asked for at once, and paid when a colleague has approved it."""
    mesh: pausemesh.Mesh = request.app.state.mesh
    try:
        asked = await mesh.create(
            payload={
                "message": f"Refund {wanted.euros} euros for order {wanted.order}?",
                "action": {"name": "refund", "arguments": wanted.model_dump()},
            },
            continuation_id=f"refund-{wanted.order}",
            idempotency_key=f"refund-{wanted.order}",
            queue="refunds",
            by=user,
        )
    except (pausemesh.ContinuationExists, pausemesh.IdempotencyConflict) as error:
        raise HTTPException(409, "This order has another refund.") from error
    return {"watch": f"/pauses/v1/continuations/{asked.continuation.id}?wait=25"}
