"""Who may do what: every role at every operation, an open server, and what a stranger learns."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.server.app import OPERATIONS
from pausemesh.server.operation import Access
from tests.server.answers import Reply, require_problem
from tests.server.calls import ACTION, VALID, Givens, Wish
from tests.server.harness import Client, RunningServer

PUBLIC = {operation.name for operation in OPERATIONS if operation.access is Access.PUBLIC}
OPEN = {operation.name for operation in OPERATIONS if operation.access is Access.OPEN} | PUBLIC
OF_ONE = [operation.name for operation in OPERATIONS if "{id}" in operation.path]
READING = PUBLIC | {
    "openapi",
    "docs",
    "listContinuations",
    "showContinuation",
    "listEvents",
    "listEffects",
    "followEvents",
}
LOOKING = READING | {"metrics"}
WORKING = {
    "createContinuation",
    "takeClaim",
    "takeNextClaim",
    "renewClaim",
    "finishClaim",
    "releaseClaim",
    "failClaim",
    "startEffect",
    "recordOutcome",
}
GOVERNING = {"cancelContinuation", "reissueToken"}
ABOUT_ITS_OWN = GOVERNING | {"showContinuation", "listEvents", "listEffects"}

SERVED: dict[str, set[str]] = {
    "agent": READING | WORKING | GOVERNING | {"resumeContinuation"},
    "agent that did not ask": (READING | WORKING | {"resumeContinuation"}) - ABOUT_ITS_OWN,
    "messenger": PUBLIC,
    "viewer": LOOKING | {"resumeContinuation"},
    "editor": set(VALID) - {"resolveEffect"},
    "admin": set(VALID),
}


def send(server: RunningServer, wish: Wish) -> Reply:
    with server.wire() as wire:
        return wire.send(wish.wire()).reply()


@pytest.fixture(scope="module")
def given(server: RunningServer) -> Givens:
    return Givens(server)


@pytest.fixture(scope="module")
def open_server() -> Iterator[RunningServer]:
    """One without a key; no test here makes one."""
    with RunningServer() as running:
        yield running


@pytest.mark.parametrize("caller", SERVED)
@pytest.mark.parametrize("name", VALID)
def test_a_role_may_do_what_it_is_for_and_nothing_else(
    server: RunningServer, given: Givens, caller: str, name: str
) -> None:
    role, _, is_stranger = caller.partition(" ")
    wish = VALID[name](given)
    wish.key = given.key(role, "stranger" if is_stranger else "")
    before = server.last_seq
    reply = send(server, wish)
    if name in SERVED[caller]:
        assert reply.status < 300, reply
    else:
        assert reply.outcome == (403, "FORBIDDEN")
        require_problem(reply)
        assert server.last_seq == before


@pytest.mark.parametrize("name", VALID)
def test_nobody_is_served_once_there_is_a_key(server: RunningServer, given: Givens, name: str) -> None:
    revoked = server.run(server.mesh.create_key("admin"))
    server.run(server.mesh.revoke_key(revoked.key.id))
    expired = server.run(server.mesh.create_key("admin", expires_in=timedelta(seconds=1)))
    wishes = [VALID[name](given) for _ in range(5)]
    server.clock.advance(timedelta(seconds=1))
    keys = [None, "", "pmk_wrong", given.key("admin")[:-1], revoked.text]
    replies = []
    for wish, key in zip(wishes, keys, strict=True):
        wish.key = key
        replies.append(send(server, wish))
    wishes[0].key = expired.text
    replies.append(send(server, wishes[0]))
    if name in PUBLIC:
        assert {reply.status for reply in replies} == {200}
    else:
        assert {reply.outcome for reply in replies} == {(401, "UNAUTHENTICATED")}
        assert len({reply.body for reply in replies}) == 1


@pytest.mark.parametrize("name", OF_ONE)
def test_what_is_in_another_scope_is_answered_as_what_there_is_not(
    server: RunningServer, given: Givens, name: str
) -> None:
    replies = []
    for is_there in (True, False):
        wish = VALID[name](given)
        if not is_there:
            wish.aim("q_unknown")
        wish.key = server.key("admin", "elsewhere")
        replies.append(send(server, wish))
    there, unknown = replies
    assert there.outcome[0] == 404
    assert there.outcome[1] in {"CONTINUATION_NOT_FOUND", "CLAIM_NOT_FOUND"}
    assert (there.status, there.body, there.headers.keys()) == (unknown.status, unknown.body, unknown.headers.keys())


def test_lists_and_queues_hold_nothing_of_another_scope(server: RunningServer, given: Givens) -> None:
    given.resumed(queue="shared")
    with server.client("admin", "elsewhere") as stranger:
        assert stranger.get("/v1/continuations").json == {"continuations": [], "nextCursor": None}
        taken = stranger.post("/v1/claims", {"queue": "shared", "worker": "w", "leaseSeconds": 60})
        assert (taken.status, taken.body) == (204, b"")
        assert "content-length" not in taken.headers


def test_a_key_is_known_by_bearer_and_by_a_header_of_its_own(server: RunningServer) -> None:
    key = server.key("viewer")
    known = [("Authorization", f"Bearer {key}"), ("authorization", f"bEARER   {key} "), ("X-API-Key", key)]
    for name, value in known:
        assert send(server, Wish("GET", "/v1/continuations", headers={name: value})).status == 200
    for value in (f"Basic {key}", key, "Bearer", f"Bearer {key} {key}", f"Bearer {key},", "Bearer \xe9" * 9, ""):
        reply = send(server, Wish("GET", "/v1/continuations", headers={"Authorization": value}))
        assert reply.outcome == (401, "UNAUTHENTICATED")


def test_a_new_key_works_at_once_and_a_revoked_one_no_longer_than_a_moment(server: RunningServer) -> None:
    created = server.run(server.mesh.create_key("viewer"))
    with Client(server.port, created.text) as client:
        assert client.get("/v1/continuations").status == 200
        server.run(server.mesh.revoke_key(created.key.id))
        assert server.until(lambda: client.get("/v1/continuations").status == 401)


class TestApproval:
    """An agent's key never decides an approval, by whatever route."""

    @pytest.fixture(params=["agent", "agent other"])
    def any_agent(self, server: RunningServer, request: pytest.FixtureRequest) -> Iterator[Client]:
        role, _, name = request.param.partition(" ")
        with server.client(role, name=name) as client:
            yield client

    def test_it_gets_no_token_unless_it_says_so(self, agent: Client) -> None:
        asked = agent.ask({"message": "Book it?", "action": ACTION})
        assert asked["resumeToken"] is None
        assert asked["continuation"]["answerableBy"] == ["operator"]
        told = agent.ask({"message": "Book it?", "action": ACTION}, answerableBy=["operator", "token"])
        assert told["resumeToken"] is not None

    @pytest.mark.parametrize("payload", [{"kind": "approval"}, {"action": ACTION}])
    def test_it_decides_by_no_route(
        self, server: RunningServer, agent: Client, any_agent: Client, payload: Any
    ) -> None:
        asked = agent.ask(payload, answerableBy=["operator", "token"])
        question = asked["continuation"]
        path = f"/v1/continuations/{question['continuationId']}"
        yes = {"payload": {"approved": True}, "shownDigest": question["shownDigest"]}
        assert any_agent.resume(asked, {"approved": True}).outcome == (403, "FORBIDDEN")
        bearer = {"Authorization": f"Bearer {any_agent.key}", "X-API-Key": str(any_agent.key)}
        assert any_agent.post(f"{path}/resume", yes, key="k", headers=bearer).outcome == (401, "TOKEN_MISMATCH")
        assert any_agent.post(f"{path}/answer", yes, key="k").outcome == (403, "FORBIDDEN")
        claim = any_agent.post(f"{path}/claim", {"worker": "w", "leaseSeconds": 60})
        assert claim.outcome == (409, "INVALID_TRANSITION")
        effect = any_agent.post(f"/v1/claims/{question['continuationId']}/effects", {"fence": 1, "key": "a"})
        assert effect.outcome == (404, "CLAIM_NOT_FOUND")
        resolving = {"outcome": "done", "evidence": "seen"}
        assert any_agent.post(f"{path}/effects/a/resolve", resolving).outcome == (403, "FORBIDDEN")
        assert agent.get(path).json["continuation"]["status"] == "pending"
        with server.client() as nobody:
            assert nobody.resume(asked, {"approved": True}).outcome == (401, "UNAUTHENTICATED")

    def test_a_token_that_it_asks_for_again_decides_nothing_in_its_hands(self, agent: Client, viewer: Client) -> None:
        asked = agent.ask({"kind": "approval"}, answerableBy=["token"])
        path = f"/v1/continuations/{asked['continuation']['continuationId']}"
        again = agent.post(f"{path}/token", {}).json
        assert agent.resume(again, {"approved": True}).outcome == (403, "FORBIDDEN")
        assert viewer.resume(again, {"approved": True}).status == 200

    def test_without_a_token_in_the_ways_to_answer_there_is_none_for_anybody(
        self, agent: Client, admin: Client
    ) -> None:
        asked = agent.ask({"kind": "approval"})
        path = f"/v1/continuations/{asked['continuation']['continuationId']}/token"
        assert agent.post(path, {}).outcome == (403, "FORBIDDEN")
        assert admin.post(path, {}).outcome == (403, "FORBIDDEN")

    def test_without_the_operator_in_them_no_operator_answers(self, agent: Client, admin: Client) -> None:
        question = agent.ask(answerableBy=["token"])["continuation"]
        body = {"payload": 1, "shownDigest": question["shownDigest"]}
        path = f"/v1/continuations/{question['continuationId']}/answer"
        assert admin.post(path, body, key="k").outcome == (403, "FORBIDDEN")


class TestOpenLoopback:
    """Without a key a server on loopback serves this machine, and gives away no more than it must."""

    @pytest.mark.parametrize("name", VALID)
    def test_nobody_is_served_where_no_principal_is_needed(self, open_server: RunningServer, name: str) -> None:
        given = Givens(open_server).without_keys()
        reply = send(open_server, VALID[name](given))
        if name in OPEN:
            assert reply.status < 300, reply
        else:
            assert reply.outcome == (401, "UNAUTHENTICATED")

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8787", "[::1]", "[::1]:1"])
    def test_it_answers_to_the_names_of_this_machine(self, open_server: RunningServer, host: str) -> None:
        wish = Wish("POST", "/v1/continuations", {"payload": 1}, headers={"Host": host})
        assert send(open_server, wish).status == 201

    @pytest.mark.parametrize(
        "host",
        ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "localhost.", "127.0.0.2", "[::2]",
         "10.0.0.1", "127.1", "[::ffff:127.0.0.1]", "localhost:x", "localhost,evil.example", "::1"],
    )  # fmt: skip
    @pytest.mark.parametrize("path", ["/v1/continuations", "/nowhere", "/docs", "/metrics"])
    def test_any_other_name_is_misdirected_before_anything_else(
        self, open_server: RunningServer, host: str, path: str
    ) -> None:
        before = open_server.last_seq
        reply = send(open_server, Wish("POST", path, {"payload": 1}, headers={"Host": host}))
        assert reply.outcome == (421, "MISDIRECTED")
        require_problem(reply)
        assert open_server.last_seq == before

    def test_health_is_told_by_any_name(self, open_server: RunningServer) -> None:
        for path in ("/healthz", "/readyz"):
            assert send(open_server, Wish("GET", path, headers={"Host": "10.0.0.1"})).status == 200

    @pytest.mark.parametrize(
        "header", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "x-forwarded-anything"]
    )
    @pytest.mark.parametrize("value", ["for=127.0.0.1", ""])
    def test_what_was_forwarded_needs_a_key(self, open_server: RunningServer, header: str, value: str) -> None:
        for host in ("localhost", "evil.example"):
            wish = Wish("POST", "/v1/continuations", {"payload": 1}, headers={"Host": host, header: value})
            assert send(open_server, wish).outcome == (401, "UNAUTHENTICATED")

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://"])
    def test_a_page_of_another_site_is_nobody_that_is_served(self, open_server: RunningServer, origin: str) -> None:
        wish = Wish("POST", "/v1/continuations", {"payload": 1}, headers={"Origin": origin})
        assert send(open_server, wish).outcome == (401, "UNAUTHENTICATED")

    def test_a_wrong_key_is_wrong_here_too(self, open_server: RunningServer) -> None:
        wish = Wish("POST", "/v1/continuations", {"payload": 1}, key="pmk_wrong")
        assert send(open_server, wish).outcome == (401, "UNAUTHENTICATED")

    def test_a_resume_token_is_no_key(self, open_server: RunningServer) -> None:
        with open_server.client() as nobody:
            assert nobody.resume(nobody.ask(), 1).status == 200

    def test_the_first_key_closes_it_at_once_whoever_makes_it_and_for_good(self, tmp_path: Path) -> None:
        with RunningServer(database=tmp_path / "q.db") as server, server.client() as nobody:
            nobody.ask()
            with pausemesh.open_sync(tmp_path / "q.db", clock=server.clock) as elsewhere:
                created = elsewhere.create_key("viewer", scope="other")
                refusal = nobody.post("/v1/continuations", {"payload": 1})
                assert refusal.outcome == (401, "UNAUTHENTICATED")
                assert nobody.get("/docs").outcome == (401, "UNAUTHENTICATED")
                elsewhere.revoke_key(created.key.id)
                assert nobody.get("/docs").outcome == (401, "UNAUTHENTICATED")

    def test_once_it_is_closed_any_name_will_do(self, server: RunningServer) -> None:
        wish = Wish("GET", "/v1/continuations", headers={"Host": "evil.example"}, key=server.key("viewer"))
        assert send(server, wish).status == 200

    def test_a_server_that_is_reached_from_elsewhere_is_never_open(self) -> None:
        with RunningServer(is_loopback=False) as server:
            wish = Wish("POST", "/v1/continuations", {"payload": 1})
            assert send(server, wish).outcome == (401, "UNAUTHENTICATED")
            assert send(server, Wish("GET", "/healthz")).status == 200


def test_of_two_keys_that_differ_neither_counts(server: RunningServer) -> None:
    right, wrong = server.key("editor"), server.key("viewer")
    with Client(server.port) as client:
        for own, bearer, status in ((right, right, 200), (right, wrong, 401), (wrong[:-1], right, 401)):
            headers = {"X-API-Key": own, "Authorization": f"Bearer {bearer}"}
            assert client.get("/v1/continuations", headers=headers).status == status


@pytest.mark.parametrize("name", ["continuationId", "correlationId", "queue"])
def test_an_id_that_looks_like_a_credential_is_refused(server: RunningServer, name: str) -> None:
    with server.client("editor") as client:
        reply = client.post("/v1/continuations", {"payload": 1, name: f"x {server.key('viewer')}"})
        assert reply.outcome == (400, "INVALID_REQUEST")
        assert reply.json["issues"][0]["path"] == f"/{name}"
