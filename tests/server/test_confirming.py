"""Whoever waits is asked again who it is before it is told anything."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from pausemesh.server import limits
from tests.server.harness import Client, RunningServer


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEY_MEMORY_SECONDS", 0.0)


def test_a_revoked_key_is_told_nothing_of_what_it_waited_for(server: RunningServer, editor: Client) -> None:
    created = server.run(server.mesh.create_key("viewer"))
    asked = editor.ask()
    path = f"/v1/continuations/{asked['continuation']['continuationId']}?wait=20"
    with Client(server.port, created.text) as viewer, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(viewer.get, path)
        assert server.until_waiting(1)
        server.run(server.mesh.revoke_key(created.key.id))
        editor.resume(asked, "SECRETANSWER")
        assert waiting.result().outcome == (401, "UNAUTHENTICATED")


def test_a_claim_that_a_revoked_key_waited_for_is_taken_back(server: RunningServer, editor: Client) -> None:
    created = server.run(server.mesh.create_key("agent"))
    taking = {"queue": "revoked", "worker": "w", "leaseSeconds": 60, "wait": 20}
    with Client(server.port, created.text) as worker, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(worker.post, "/v1/claims", taking)
        assert server.until_waiting(1)
        server.run(server.mesh.revoke_key(created.key.id))
        editor.resume(editor.ask(queue="revoked"), 1)
        assert waiting.result().outcome == (401, "UNAUTHENTICATED")
    assert editor.post("/v1/claims", {**taking, "wait": 0}).json["claim"]["fence"] == 2
