"""What happens is told as it happens: whole, in order, and to those whom it concerns."""

import asyncio
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.types import Message

from pausemesh.core import cursor
from pausemesh.records import Recorded
from pausemesh.server import limits
from tests.server.follower import Follower
from tests.server.harness import SECONDS, Client, RunningServer


@pytest.fixture
def follower(server: RunningServer) -> Follower:
    return Follower(server.port, server.key("viewer"))


def identified(client: Client) -> str:
    created: str = client.ask()["continuation"]["continuationId"]
    return created


def test_every_change_of_a_question_is_told_with_ids_alone(
    server: RunningServer, editor: Client, follower: Follower
) -> None:
    with follower:
        asked = editor.ask({"message": "a secret of the payload"}, queue="q")
        editor.resume(asked, {"secret": "of the answer"})
        noun_id = asked["continuation"]["continuationId"]
        claim = editor.post("/v1/claims", {"queue": "q", "worker": "w", "leaseSeconds": 60}).json["claim"]
        editor.post(f"/v1/claims/{noun_id}/effects", {"fence": claim["fence"], "key": "book"})
        outcome = {"fence": claim["fence"], "status": "completed", "result": "a secret result"}
        editor.post(f"/v1/claims/{noun_id}/effects/book/outcome", outcome)
        editor.post(f"/v1/claims/{noun_id}/done", {"fence": claim["fence"]})
        seen = follower.take(5)
    assert [one.what for one in seen] == [
        ("continuation", "pending", 1),
        ("continuation", "resumed", 2),
        ("effect", "started", 1),
        ("effect", "completed", 2),
        ("claim", "done", 1),
    ]
    assert [one.data["nounId"] for one in seen] == [noun_id, noun_id, *[f"{noun_id}/book"] * 2, noun_id]
    assert all(one.data.keys() == {"id", "noun", "nounId", "version", "status"} for one in seen)
    assert "secret" not in str(seen)


@pytest.mark.parametrize("way", ["after", "last_event_id"])
def test_who_comes_back_to_a_position_misses_nothing_and_sees_nothing_twice(
    server: RunningServer, editor: Client, way: str
) -> None:
    key = server.key("viewer")
    with Follower(server.port, key) as first:
        before = [identified(editor) for _ in range(3)]
        seen = first.take(3)
    meanwhile = [identified(editor) for _ in range(3)]
    with Follower(server.port, key, **{way: seen[1].position}) as second:
        later = identified(editor)
        again = second.take(5)
    assert [one.data["nounId"] for one in seen] == before
    assert [one.data["nounId"] for one in again] == [before[2], *meanwhile, later]


def test_what_a_browser_remembers_counts_more_than_the_address_it_began_with(
    server: RunningServer, editor: Client, follower: Follower
) -> None:
    with follower:
        asked = [identified(editor) for _ in range(3)]
        seen = follower.take(3)
    positions = {"after": seen[0].position, "last_event_id": seen[1].position}
    with Follower(server.port, server.key("viewer"), **positions) as again:
        assert again.take(1)[0].data["nounId"] == asked[2]


def test_an_agent_is_told_of_its_own_questions_alone(server: RunningServer, agent: Client, editor: Client) -> None:
    with Follower(server.port, server.key("agent")) as own:
        identified(editor)
        mine = agent.ask("mine")
        identified(editor)
        agent.resume(mine, 1)
        assert [one.what[1] for one in own.take(2)] == ["pending", "resumed"]


def test_another_scope_is_told_nothing(server: RunningServer, editor: Client) -> None:
    with (
        server.client("editor", "elsewhere") as elsewhere,
        Follower(server.port, server.key("viewer", "elsewhere")) as other,
    ):
        identified(editor)
        theirs = identified(elsewhere)
        assert other.take(1)[0].data["nounId"] == theirs


def test_a_position_of_another_scope_or_with_one_character_changed_is_no_position(
    server: RunningServer, editor: Client, viewer: Client, follower: Follower
) -> None:
    with follower:
        identified(editor)
        position = follower.take(1)[0].position
    changed = ("A" if position[0] != "A" else "B") + position[1:]
    for bad in (changed, position[:-1], "", "x" * 3_000):
        assert viewer.get(f"/v1/events?after={bad}").status == 400
    with server.client("viewer", "elsewhere") as elsewhere:
        assert elsewhere.get(f"/v1/events?after={position}").outcome == (400, "INVALID_CURSOR")
    assert viewer.get("/v1/events", headers={"Last-Event-ID": changed}).outcome == (400, "INVALID_CURSOR")


def test_a_position_beyond_the_log_is_gone(server: RunningServer, viewer: Client) -> None:
    keys = server.mesh._world.policy.cursor_keys  # noqa: SLF001 - only its owner can make such a position
    ahead = cursor.write_cursor(keys, ["changes-v1", "default"], server.last_seq + 1)
    assert viewer.get(f"/v1/events?after={ahead}").outcome == (410, "EVENTS_GONE")


def test_a_messenger_and_nobody_may_not_follow(server: RunningServer, nobody: Client) -> None:
    assert nobody.get("/v1/events").outcome == (401, "UNAUTHENTICATED")
    with server.client("messenger") as messenger:
        assert messenger.get("/v1/events").outcome == (403, "FORBIDDEN")


def test_a_stream_has_no_head_to_be_asked_for_alone(server: RunningServer) -> None:
    with server.wire() as wire:
        head = f"HEAD /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.key('viewer')}\r\n\r\n"
        answer = wire.send(head.encode()).reply("HEAD")
        assert (answer.status, answer.headers["allow"]) == (405, "GET")


def test_silence_is_filled_with_comments(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMENT_SECONDS", 0.01)
    with Follower(server.port, server.key("viewer")) as quiet:
        assert quiet.comment() == quiet.comment() == ": still here"


def test_many_who_commit_at_once_leave_no_gap(server: RunningServer) -> None:
    with Follower(server.port, server.key("viewer")) as follower, ThreadPoolExecutor(8) as threads:

        def ask(_worker: int) -> list[str]:
            with server.client("editor") as client:
                return [identified(client) for _ in range(25)]

        asked = {noun_id for found in threads.map(ask, range(8)) for noun_id in found}
        seen = follower.take(200)
    assert {one.data["nounId"] for one in seen} == asked


def test_what_another_process_commits_is_told_without_a_gap(tmp_path: Path) -> None:
    database = tmp_path / "shared.db"
    with (
        RunningServer(database=database) as one,
        RunningServer(database=database) as other,
        Follower(one.port, one.key("viewer")) as follower,
        one.client("editor") as here,
        Client(other.port, here.key) as there,
    ):
        asked = [identified(client) for _ in range(20) for client in (here, there)]
        seen = [one.data["nounId"] for one in follower.take(40)]
    assert seen == asked


def test_a_client_that_reads_nothing_is_sent_away_and_delays_nobody(
    server: RunningServer, editor: Client, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SUBSCRIBER_BACKLOG_EVENTS", 3)
    key = server.key("viewer")
    with follower:
        stuck = asyncio.run_coroutine_threadsafe(follow_without_reading(server, key), server.loop)
        server.run(until_subscribers(server, 2))
        asked = [identified(editor) for _ in range(12)]
        assert [one.data["nounId"] for one in follower.take(12)] == asked
        assert stuck.result(SECONDS) == ["http.response.start", "http.response.body"]
        server.run(until_subscribers(server, 1))


async def follow_without_reading(server: RunningServer, key: str) -> list[str]:
    """Be a client whose connection takes the first bytes and no more; return what was sent to it."""
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def receive() -> Message:
        return await asyncio.Future()

    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {key}".encode())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/events",
        "raw_path": b"/v1/events",
        "query_string": b"",
        "headers": headers,
        "http_version": "1.1",
        "root_path": "",
    }
    await server.app(scope, receive, send)
    return sent


async def until_subscribers(server: RunningServer, count: int) -> None:
    while server.app.serving.subscribers != count:
        await asyncio.sleep(0.001)


def test_a_server_that_stops_ends_its_streams_in_order() -> None:
    with RunningServer() as other, Follower(other.port, other.key("viewer")) as follower:
        other.stop()
        assert list(follower) == []


def test_no_more_may_follow_than_there_is_room_for(
    server: RunningServer, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SUBSCRIBERS", 0)
    assert viewer.get("/v1/events").outcome == (503, "OVERLOADED")


def test_who_has_gone_is_counted_no_more(server: RunningServer, follower: Follower) -> None:
    with follower:
        server.run(until_subscribers(server, 1))
    server.run(until_subscribers(server, 0))


def test_a_client_that_heard_of_nothing_yet_knows_where_to_come_back_to(
    server: RunningServer, editor: Client, follower: Follower
) -> None:
    with follower:
        position = follower.first_position()
    asked = identified(editor)
    with Follower(server.port, server.key("viewer"), last_event_id=position) as again:
        assert again.take(1)[0].data["nounId"] == asked


def test_a_stream_ends_soon_after_its_key_was_revoked(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMENT_SECONDS", 0.01)
    monkeypatch.setattr(limits, "KEY_MEMORY_SECONDS", 0.0)
    created = server.run(server.mesh.create_key("viewer"))
    with Follower(server.port, created.text) as follower:
        assert follower.comment()
        server.run(server.mesh.revoke_key(created.key.id))
        assert list(follower) == []


def test_many_follow_one_reading_of_the_log(server: RunningServer, editor: Client) -> None:
    with contextlib.ExitStack() as stack:
        followers = [stack.enter_context(Follower(server.port, server.key("viewer"))) for _ in range(20)]
        reads = server.run(count_reads(server))
        asked = [identified(editor) for _ in range(10)]
        assert all([one.data["nounId"] for one in follower.take(10)] == asked for follower in followers)
        assert len(reads) < 20 * 10


async def count_reads(server: RunningServer) -> list[int]:
    reads: list[int] = []
    feed = server.store.feed

    async def counted(after_seq: int, scope: str | None = None, limit: int = 1000) -> Sequence[Recorded]:
        reads.append(after_seq)
        return await feed(after_seq, scope, limit)

    server.store.feed = counted  # type: ignore[method-assign]
    return reads
