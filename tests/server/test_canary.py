"""A secret in every field that may hold one, and a search for it wherever it must not be."""

import hashlib
from pathlib import Path
from typing import Any

import pausemesh
from tests.server.answers import Reply
from tests.server.follower import Follower
from tests.server.harness import Client
from tests.server.served import Served

CANARY = "canary-4be91c"
PIN = {"type": "object", "properties": {"pin": {"const": CANARY}}, "required": ["pin"], "additionalProperties": False}
QUESTION = {"message": CANARY, "responseSchema": PIN, "hint": [CANARY]}
CONTINUATIONS = "/v1/continuations"


class Net:
    """Keeps the credentials that were given out, and all that somebody saw who was refused or a stranger."""

    def __init__(self) -> None:
        self.credentials: list[str] = []
        self.seen: list[bytes] = []

    def created(self, reply: Reply) -> Any:
        """Keep a token, and return what it came with."""
        found = reply.json
        if found["resumeToken"] is not None:
            self.credentials.append(found["resumeToken"])
        return found

    def refused(self, reply: Reply) -> None:
        """Keep what a caller was refused with."""
        assert reply.status >= 400
        self.seen.append(reply.body + repr(reply.headers).encode())


def live(client: Client, net: Net) -> str:
    """Ask, answer and take back with the secret in each field, well and badly; return the answered question's id."""
    created = net.created(client.post(CONTINUATIONS, {"payload": QUESTION, "metadata": {"m": CANARY}}, key="ask"))
    found = created["continuation"]["continuationId"]
    path = f"{CONTINUATIONS}/{found}"
    net.refused(client.post(CONTINUATIONS, {"payload": CANARY, "continuationId": found}))
    net.refused(client.post(CONTINUATIONS, {"payload": CANARY}, key="ask"))
    net.refused(client.post(CONTINUATIONS, {"payload": {"kind": CANARY}}))
    net.refused(client.post(CONTINUATIONS, {"payload": {"responseSchema": {"$ref": CANARY}}}))
    net.refused(client.post(CONTINUATIONS, {"payload": 1, "queue": f" {CANARY}"}))
    net.refused(client.call("POST", CONTINUATIONS, f'{{"payload": "{CANARY}'.encode(), headers={}))
    net.refused(client.resume(created, {"pin": f"{CANARY}!"}))
    net.refused(client.resume({**created, "resumeToken": created["resumeToken"] + CANARY}, CANARY))
    net.refused(client.post(f"{path}/resume?token={CANARY}", {"payload": 1}, key="k", token=created["resumeToken"]))
    assert client.resume(created, {"pin": CANARY}, key=CANARY).status == 200
    net.refused(client.resume(created, {"pin": f"{CANARY}!"}, key=CANARY))
    net.refused(client.resume(created, {"pin": CANARY}, key="another"))
    other = net.created(client.post(CONTINUATIONS, {"payload": CANARY}))
    path = f"{CONTINUATIONS}/{other['continuation']['continuationId']}"
    net.created(client.post(f"{path}/token", {}))
    assert client.post(f"{path}/cancel", {"reason": CANARY}).status == 200
    net.refused(client.post(f"{path}/cancel", {"reason": f"{CANARY}!"}))
    return str(found)


def go_on(client: Client, net: Net, found: str) -> None:
    """Claim, do what is to be done, settle a doubt and finish, with the secret in each field."""
    claim = f"/v1/claims/{found}"
    assert client.post(f"{CONTINUATIONS}/{found}/claim", {"worker": "w", "leaseSeconds": 60}).status == 200
    effect = {"fence": 1, "key": "book", "arguments": {"x": CANARY}}
    assert client.post(f"{claim}/effects", effect).status == 200
    net.refused(client.post(f"{claim}/effects", {**effect, "arguments": {"x": f"{CANARY}!"}}))
    outcome = {"fence": 1, "status": "completed", "result": CANARY}
    assert client.post(f"{claim}/effects/book/outcome", outcome).status == 200
    net.refused(client.post(f"{claim}/effects/book/outcome", {**outcome, "result": f"{CANARY}!"}))
    assert client.post(f"{claim}/fail", {"fence": 1, "reason": CANARY}).status == 200
    assert client.post(f"{CONTINUATIONS}/{found}/claim", {"worker": "w", "leaseSeconds": 60}).status == 200
    assert client.post(f"{claim}/done", {"fence": 2, "result": CANARY}).status == 200
    net.refused(client.post(f"{claim}/done", {"fence": 2, "result": f"{CANARY}!"}))


def look_around(served: Served, net: Net, found: str, admin: str, strangers: list[str]) -> None:
    """See what everybody sees, and what strangers are told."""
    for key in (None, "pmk_wrong", *strangers):
        with served.client(key) as stranger:
            for path in (CONTINUATIONS, f"{CONTINUATIONS}/{found}", f"{CONTINUATIONS}/{found}/effects"):
                net.seen.append(stranger.get(path).body)
    with served.client(admin) as client:
        net.seen += [client.get(path).body for path in ("/metrics", "/openapi.json", "/docs", "/healthz", "/readyz")]
    with Follower(served.port, admin) as follower, served.client(admin) as client:
        asked = net.created(client.post(CONTINUATIONS, {"payload": CANARY, "metadata": {"m": CANARY}}))
        client.resume(asked, CANARY)
        net.seen.append(repr(follower.take(2)).encode())


def test_a_secret_is_seen_by_whoever_may_and_a_credential_is_not_even_in_the_database(tmp_path: Path) -> None:
    net = Net()
    with Served(tmp_path, "--log-level", "debug") as served:
        assert served.port
        with pausemesh.open_sync(served.database) as mesh:
            admin = mesh.create_key("admin").text
            strangers = [mesh.create_key("messenger").text, mesh.create_key("admin", scope="elsewhere").text]
        net.credentials += [admin, *strangers]
        with served.client(admin) as client:
            found = live(client, net)
            go_on(client, net, found)
            assert CANARY in client.get(f"{CONTINUATIONS}/{found}/events").body.decode()
        look_around(served, net, found, admin, strangers)
        net.seen.append(Path(f"/proc/{served.process.pid}/cmdline").read_bytes())
        hashes = [hashlib.sha256(credential.encode()).hexdigest() for credential in net.credentials]
        stored = b"".join(file.read_bytes() for file in tmp_path.glob("q.db*"))
        assert served.signal().wait() == 0
    net.seen.append(served.said.encode())
    assert len(served.said.splitlines()) > 40
    everything = b"\n".join(net.seen)
    assert CANARY.encode() not in everything
    assert CANARY.encode() in stored
    for credential, digest in zip(net.credentials, hashes, strict=True):
        assert credential.encode() not in everything + stored
        assert digest.encode() not in everything
