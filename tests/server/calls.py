"""For each operation a request that is served, and the questions and claims that such requests are about."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import pausemesh
from pausemesh.records import Lease
from tests.server.harness import RunningServer

ACTION: Final = {"name": "book_flight", "arguments": {"flight": "AZ1"}}
SCHEMA: Final = {"type": "object", "properties": {"flight": {"type": "string"}}, "required": ["flight"]}
LEASE: Final = timedelta(seconds=60)
OTHER_TOKEN: Final = pausemesh.Sha256TokenIssuer().issue()
"""A token that opens nothing."""


@dataclasses.dataclass
class Wish:
    """A request; whatever it is about exists, so that it is served unless something is spoilt."""

    method: str
    path: str
    body: Any = None
    role: str = "editor"
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    key: str | None = None
    extra_lines: tuple[str, ...] = ()
    is_malformed: bool = False
    padding: int = 0
    declared: int | None = None

    def aim(self, noun_id: str, place: int = 3) -> None:
        """Be about another question or claim, or another effect of it."""
        parts = self.path.split("/")
        parts[place] = noun_id
        self.path = "/".join(parts)

    def wire(self) -> bytes:
        """Write it as it goes over the wire."""
        given = {"Host": "localhost", **self.headers}
        if self.key is not None and "Authorization" in given:
            given["X-API-Key"] = self.key
        elif self.key is not None:
            given["Authorization"] = f"Bearer {self.key}"
        body = self._body()
        if self.body is not None:
            given.setdefault("Content-Type", "application/json")
        if self.padding:
            given["Transfer-Encoding"] = "chunked"
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        elif self.body is not None or self.declared is not None:
            given["Content-Length"] = str(len(body) if self.declared is None else self.declared)
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        return "\r\n".join([*lines, *self.extra_lines, "", ""]).encode("latin-1") + body

    def _body(self) -> bytes:
        text = "" if self.body is None else json.dumps(self.body)
        if self.is_malformed:
            text = f'{text[:-1]}{"," if self.body else ""}"x":NaN}}'
        return text.encode() + b" " * self.padding


class Givens:
    """Questions, claims and effects in every state; those of ``own`` were asked by the agent of that name."""

    def __init__(self, server: RunningServer, scope: str = "default") -> None:
        self._server = server
        self._mesh = server.mesh.in_scope(scope)
        self._scope = scope
        self._has_keys = True
        self.token = ""

    def question(self, payload: Any = None, *, by: str = "agent", **members: Any) -> str:
        """Ask, and return the id."""
        asked: Any = {"message": "Which flight?", "responseSchema": SCHEMA} if payload is None else payload
        members = {"by": self.principal(by), "answerable_by": ["token", "operator"], "queue": "q", **members}
        created = self._server.run(self._mesh.create(payload=asked, **members))
        self.token = created.resume_token or ""
        return created.continuation.id

    def resumed(self, payload: Any = None, answer: Any = None, **members: Any) -> str:
        """Ask and answer."""
        found = self.question(payload, **members)
        answered = {"flight": "AZ2"} if answer is None else answer
        self._server.run(self._mesh.resume(found, token=self.token, idempotency_key="first", payload=answered))
        return found

    def cancelled(self, **members: Any) -> str:
        """Ask and take back."""
        found = self.question(**members)
        self._server.run(self._mesh.cancel(found, reason="first"))
        return found

    def expired(self, **members: Any) -> str:
        """Ask, and let the time pass."""
        found = self.question(expires_in=timedelta(seconds=1), **members)
        self._server.clock.advance(timedelta(seconds=1))
        return found

    def digest(self, found: str) -> str:
        """Return the digest of what a person is shown."""
        return self._server.run(self._mesh.inspect(found)).shown_digest

    def claimed(self, payload: Any = None, *, times: int = 2, **members: Any) -> str:
        """Ask, answer and claim, so that the fence is ``times``."""
        found = self.resumed(payload, **members)
        for fence in range(1, times + 1):
            lease = self.claim(found)
            assert lease.fence == fence
            if fence < times:
                self._server.run(self._mesh.fenced.release(found, fence))
        return found

    def claim(self, found: str) -> Lease:
        """Take a claim."""
        return self._server.run(self._mesh.fenced.take(found, worker="w", lease=LEASE))[1]

    def answered(self) -> str:
        """Ask, and answer as the editor does."""
        found = self.question()
        answer = {"flight": "AZ2"}
        by = self.principal("editor")
        self._server.run(self._mesh.answer(found, by=by, idempotency_key="first", payload=answer))
        return found

    def effect(self, found: str, **members: Any) -> None:
        """Announce an effect."""
        self._server.run(self._mesh.fenced.start_effect(found, 2, key="book", **members))

    def other_effect(self) -> str:
        """Return a claim under which something else was announced under the same key."""
        found = self.claimed()
        self.effect(found, arguments={"other": 1})
        return found

    def recorded(self) -> str:
        """Return a claim with an effect whose outcome is known."""
        found = self.claimed()
        self.effect(found)
        self._server.run(self._mesh.fenced.record_outcome(found, 2, "book", completed=True, result="known"))
        return found

    def doubtful(self, **members: Any) -> str:
        """Return a question with an effect whose worker went away."""
        found = self.claimed(**members)
        self.effect(found)
        self._server.clock.advance(LEASE)
        return found

    def key(self, role: str, name: str = "") -> str:
        """Return the key of this role and name."""
        return self._server.key(role, self._scope, name=name)

    def without_keys(self) -> "Givens":
        """Go on without making any key."""
        self._has_keys = False
        return self

    def principal(self, role: str, name: str = "") -> pausemesh.Principal:
        """Return who calls with it."""
        if not self._has_keys:
            return pausemesh.Principal(id=role, role=pausemesh.Role(role), scope=self._scope)
        found = self._server.run(self._server.mesh.authenticate(self.key(role, name)))
        assert found is not None
        return found


def _create(_given: Givens) -> Wish:
    return Wish("POST", "/v1/continuations", {"payload": "Which flight?"})


def _resume(given: Givens) -> Wish:
    path = f"/v1/continuations/{given.question()}/resume"
    headers = {"Authorization": f"PauseMesh {given.token}", "Idempotency-Key": "k"}
    return Wish("POST", path, {"payload": {"flight": "AZ1"}}, headers=headers)


def _answer(given: Givens) -> Wish:
    found = given.question()
    body = {"payload": {"flight": "AZ1"}, "shownDigest": given.digest(found)}
    return Wish("POST", f"/v1/continuations/{found}/answer", body, headers={"Idempotency-Key": "k"})


def _take_next(given: Givens) -> Wish:
    given.resumed(queue="next")
    return Wish("POST", "/v1/claims", {"queue": "next", "worker": "w", "leaseSeconds": 60})


def _outcome(given: Givens) -> Wish:
    found = given.claimed()
    given.effect(found)
    body = {"fence": 2, "status": "completed", "result": 1}
    return Wish("POST", f"/v1/claims/{found}/effects/book/outcome", body)


def _resolve(given: Givens) -> Wish:
    body = {"outcome": "done", "evidence": "seen"}
    return Wish("POST", f"/v1/continuations/{given.doubtful()}/effects/book/resolve", body, role="admin")


def _on_claim(verb: str, **members: Any) -> Callable[[Givens], Wish]:
    return lambda given: Wish("POST", f"/v1/claims/{given.claimed()}/{verb}", {"fence": 2, **members})


VALID: Final[Mapping[str, Callable[[Givens], Wish]]] = {
    "createContinuation": _create,
    "listContinuations": lambda _given: Wish("GET", "/v1/continuations?limit=1"),
    "showContinuation": lambda given: Wish("GET", f"/v1/continuations/{given.question()}"),
    "listEvents": lambda given: Wish("GET", f"/v1/continuations/{given.question()}/events"),
    "resumeContinuation": _resume,
    "answerContinuation": _answer,
    "cancelContinuation": lambda given: Wish("POST", f"/v1/continuations/{given.question()}/cancel", {}),
    "reissueToken": lambda given: Wish("POST", f"/v1/continuations/{given.question()}/token", {}),
    "takeClaim": lambda given: Wish(
        "POST", f"/v1/continuations/{given.resumed()}/claim", {"worker": "w", "leaseSeconds": 60}
    ),
    "takeNextClaim": _take_next,
    "renewClaim": _on_claim("renew", leaseSeconds=60),
    "finishClaim": _on_claim("done", result=1),
    "releaseClaim": _on_claim("release"),
    "failClaim": _on_claim("fail", reason="no"),
    "startEffect": _on_claim("effects", key="book", kind="book", arguments={}),
    "recordOutcome": _outcome,
    "listEffects": lambda given: Wish("GET", f"/v1/continuations/{given.claimed()}/effects"),
    "resolveEffect": _resolve,
    "followEvents": lambda _given: Wish("GET", "/v1/events"),
    "metrics": lambda _given: Wish("GET", "/metrics"),
    "openapi": lambda _given: Wish("GET", "/openapi.json"),
    "docs": lambda _given: Wish("GET", "/docs"),
    "alive": lambda _given: Wish("GET", "/healthz"),
    "ready": lambda _given: Wish("GET", "/readyz"),
}
"""A request to each operation by the name of it; whoever calls it has to put in a key of the role it names."""
