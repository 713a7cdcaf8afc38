"""Bodies that come slowly take nobody's place."""

import pytest

from pausemesh.server import limits
from tests.server.harness import Client, RunningServer


def test_more_slow_bodies_than_there_is_room_for_delay_nobody(
    server: RunningServer, editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT", 3)
    head = (
        "POST /v1/continuations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {editor.key}\r\nContent-Length: 13\r\n\r\n" + "{"
    )
    slow = [server.wire().send(head.encode()) for _ in range(10)]
    for _ in range(5):
        assert editor.ask("at once")["resumeToken"]
    for wire in slow:
        with wire:
            assert wire.send(b'"payload":1}').reply("POST").status == 201
