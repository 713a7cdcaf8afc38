"""Query strings: read strictly, and cursors that nobody can forge or carry elsewhere."""

from typing import Any
from urllib.parse import quote

import pytest

import pausemesh
from pausemesh.server.settings import Settings
from tests.server.harness import Client, RunningServer

LIST = "/v1/continuations"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "/limit"),
        ("limit=-1", "/limit"),
        ("limit=201", "/limit"),
        ("limit=1000000", "/limit"),
        ("limit=1.0", "/limit"),
        ("limit=+1", "/limit"),
        ("limit=%201", "/limit"),
        ("limit=%D9%A1", "/limit"),
        ("limit=9" + "9" * 400, "/limit"),
        ("limit=", "/limit"),
        ("limit=1&limit=1", "/limit"),
        ("status=canary-value", "/status"),
        ("status=", "/status"),
        ("status=PENDING", "/status"),
        ("kind=canary-value", "/kind"),
        ("dueBefore=canary-value", "/dueBefore"),
        ("dueBefore=2026-01-01", "/dueBefore"),
        ("dueBefore=2026-01-01T00:00:00%2B00:00", "/dueBefore"),
        ("dueBefore=2026-13-01T00:00:00Z", "/dueBefore"),
        ("correlationId=", "/correlationId"),
        ("correlationId=canary%01value", "/correlationId"),
        ("correlationId=" + "c" * 201, "/correlationId"),
        ("canary-value=1", ""),
        ("canary-value", ""),
        ("status=%ff", ""),
        ("&".join(["limit=1"] * 40), ""),
    ],
)
def test_a_query_that_is_not_what_it_must_be_is_400_with_its_place(editor: Client, query: str, path: str) -> None:
    reply = editor.get(f"{LIST}?{query}")
    assert reply.outcome == (400, "INVALID_REQUEST")
    assert [issue["path"] for issue in reply.json["issues"]] == [path]


@pytest.mark.parametrize("wait", ["26", "25.001", "-1", "abc", "", "1e1", "NaN", "inf", "0x1", "1,5", " 1"])
def test_a_wait_that_is_none_or_too_long_is_400(editor: Client, wait: str) -> None:
    created = editor.ask()["continuation"]["continuationId"]
    reply = editor.get(f"{LIST}/{created}?wait={quote(wait)}")
    assert reply.outcome == (400, "INVALID_REQUEST")
    assert reply.json["issues"][0]["path"] == "/wait"


@pytest.mark.parametrize("wait", ["0", "0.0", "0.01", "00.02"])
def test_a_wait_that_ends_without_a_decision_shows_the_question_as_it_is(editor: Client, wait: str) -> None:
    created = editor.ask()["continuation"]["continuationId"]
    assert editor.get(f"{LIST}/{created}?wait={wait}").json["continuation"]["status"] == "pending"


def test_an_empty_query_is_none(editor: Client) -> None:
    assert editor.get(f"{LIST}?").status == 200


class TestCursors:
    """A list goes on where it was left, once for each question, and only for whom it was begun."""

    def ids(self, client: Client, query: str) -> list[list[str]]:
        """Return the pages of a list."""
        pages, cursor = [], ""
        while True:
            found: Any = client.get(f"{LIST}?{query}{cursor}").json
            pages.append([one["continuationId"] for one in found["continuations"]])
            if found["nextCursor"] is None:
                return pages
            cursor = f"&cursor={found['nextCursor']}"

    @pytest.mark.parametrize(
        "query", ["limit=2", "limit=2&status=pending", "limit=2&correlationId=c", "kind=input&limit=2"]
    )
    def test_every_question_is_on_one_page(self, server: RunningServer, query: str) -> None:
        with server.client("editor", f"pages.{query.replace('=', '.').replace('&', '.')}") as editor:
            asked = [editor.ask(correlationId="c")["continuation"]["continuationId"] for _ in range(5)]
            pages = self.ids(editor, query)
        assert [len(page) for page in pages] == [2, 2, 1]
        assert sorted(one for page in pages for one in page) == sorted(asked)

    def test_a_list_of_exactly_one_page_has_no_cursor(self, server: RunningServer) -> None:
        with server.client("editor", "exactly") as editor:
            for _ in range(2):
                editor.ask()
            assert editor.get(f"{LIST}?limit=2").json["nextCursor"] is None

    def test_one_changed_character_is_400_wherever_it_stands(self, editor: Client) -> None:
        for _ in range(2):
            editor.ask()
        cursor = editor.get(f"{LIST}?limit=1").json["nextCursor"]
        for place, character in enumerate(cursor):
            changed = cursor[:place] + ("A" if character != "A" else "B") + cursor[place + 1 :]
            assert editor.get(f"{LIST}?limit=1&cursor={changed}").outcome == (400, "INVALID_CURSOR")
        for changed in (cursor[:-1], cursor + "A", cursor + "=", cursor + "%3D%3D", "", "a" * 3_000, "%C3%A9"):
            assert editor.get(f"{LIST}?limit=1&cursor={changed}").outcome == (400, "INVALID_CURSOR")

    def test_it_goes_with_its_filters_its_scope_and_for_an_agent_with_its_own(
        self, server: RunningServer, editor: Client, agent: Client
    ) -> None:
        for client in (editor, agent):
            for _ in range(2):
                client.ask()
        cursor = editor.get(f"{LIST}?limit=1").json["nextCursor"]
        assert editor.get(f"{LIST}?limit=5&cursor={cursor}").status == 200
        assert editor.get(f"{LIST}?limit=1&status=pending&cursor={cursor}").code == "INVALID_CURSOR"
        assert editor.get(f"{LIST}?limit=1&kind=input&cursor={cursor}").code == "INVALID_CURSOR"
        assert agent.get(f"{LIST}?limit=1&cursor={cursor}").code == "INVALID_CURSOR"
        with server.client("editor", "elsewhere") as stranger:
            assert stranger.get(f"{LIST}?limit=1&cursor={cursor}").code == "INVALID_CURSOR"

    def test_another_server_with_the_same_secret_goes_on_with_it_and_another_with_another_does_not(
        self, editor: Client
    ) -> None:
        for _ in range(2):
            editor.ask()
        cursor = editor.get(f"{LIST}?limit=1").json["nextCursor"]
        with RunningServer() as replica, replica.client("editor") as client:
            assert client.get(f"{LIST}?limit=1&cursor={cursor}").status == 200
        policy = pausemesh.Policy(cursor_keys=(b"another" * 6,))
        with RunningServer(policy=policy) as other, other.client("editor") as client:
            assert client.get(f"{LIST}?limit=1&cursor={cursor}").code == "INVALID_CURSOR"

    def test_a_new_secret_before_the_old_one_lets_clients_go_on_until_the_old_one_is_left_out(self) -> None:
        old, new = "a" * 32, "b" * 32
        with serving(old) as first:
            of_old = issued(first)
        with serving(f"{new},{old}") as both:
            assert outcomes(both, *of_old) == [(200, None), (410, "EVENTS_GONE")]
            of_new = issued(both)
        with serving(new) as last:
            assert outcomes(last, *of_old) == [(400, "INVALID_CURSOR")] * 2
            assert outcomes(last, *of_new) == [(200, None), (410, "EVENTS_GONE")]


def serving(secrets: str) -> RunningServer:
    return RunningServer(policy=Settings(secret_keys=secrets).policy())


def issued(server: RunningServer) -> tuple[str, str]:
    """Return a list's cursor, and a stream's position that lies ahead of every log here."""
    with server.client("editor") as client:
        for _ in range(2):
            client.ask()
        return client.get(f"{LIST}?limit=1").json["nextCursor"], server.mesh.changes.position_of(1_000)


def outcomes(server: RunningServer, cursor: str, position: str) -> list[tuple[int, str | None]]:
    with server.client("editor") as client:
        listed, followed = client.get(f"{LIST}?limit=1&cursor={cursor}"), client.get(f"/v1/events?after={position}")
        return [(listed.status, listed.json.get("code")), followed.outcome]


def test_an_agent_lists_its_own_and_filters_narrow(server: RunningServer) -> None:
    with server.client("agent", "own") as agent, server.client("editor", "own") as editor:
        mine = agent.ask({"kind": "approval"}, correlationId="a", expiresAt="2026-02-01T00:00:00Z")
        other = editor.ask(1, correlationId="b", expiresAt="2026-03-01T00:00:00Z")
        mine_id, other_id = (one["continuation"]["continuationId"] for one in (mine, other))

        def ids(client: Client, query: str = "") -> list[str]:
            return [one["continuationId"] for one in client.get(f"{LIST}?{query}").json["continuations"]]

        assert ids(agent) == [mine_id]
        assert ids(editor) == [mine_id, other_id]
        assert ids(editor, "kind=approval") == [mine_id]
        assert ids(editor, "correlationId=b") == [other_id]
        assert ids(editor, "dueBefore=2026-02-15T00:00:00Z") == [mine_id]
        assert ids(editor, "status=resumed") == []
        editor.resume(other, "yes")
        assert ids(editor, "status=resumed") == [other_id]
        assert ids(editor, "status=pending") == [mine_id]
