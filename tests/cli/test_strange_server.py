"""A server that is no PauseMesh is told from one that has nothing to ask, and what is here is asked without a proxy."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pausemesh.cli.settling import TRIES
from tests.cli.conftest import Run


class Strange(ThreadingHTTPServer):
    """Answers everything with 200 and the same JSON, and keeps what it was asked."""

    content: Any = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Strange

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(self.server.content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the standard library's names

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Strange]:
    with Strange() as started:
        threading.Thread(target=started.serve_forever, daemon=True).start()
        monkeypatch.setenv("PAUSEMESH_URL", started.url)
        monkeypatch.setenv("PAUSEMESH_API_KEY", "pmk_" + "a" * 49)
        yield started
        started.shutdown()


@pytest.mark.parametrize("content", [{}, {"continuations": 5}, {"continuation": 5, "events": {}}, {"continuation": {}}])
@pytest.mark.parametrize("words", ["inbox", "show q_1", "answer q_1 --json 1 --yes"])
def test_what_is_no_pausemesh_is_no_empty_inbox(run: Run, server: Strange, words: str, content: Any) -> None:
    server.content = content
    done = run(*words.split())
    assert (done.code, done.out) == (7, "")
    assert "This is no PauseMesh server" in done.err
    assert len(server.asked) == 1


def test_what_may_have_taken_a_question_back_and_does_not_say_so_leaves_a_doubt(run: Run, server: Strange) -> None:
    server.content = {"continuation": {}}
    done = run("cancel", "q_1", "--json")
    assert (done.code, done.out, done.problem["code"]) == (8, "", "OUTCOME_UNKNOWN")
    assert len(server.asked) == TRIES


def test_a_list_that_is_none_is_no_empty_history(run: Run, server: Strange) -> None:
    server.content = {"continuation": {"continuationId": "q_1", "status": "pending", "payload": None}}
    assert run("show", "q_1").code == 7


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "127.9.9.9", "[::1]", "mesh.localhost"])
def test_a_key_for_this_machine_goes_to_no_proxy(
    run: Run, server: Strange, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    server.content = {"continuations": [], "nextCursor": None}
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, server.url)
    monkeypatch.setenv("PAUSEMESH_URL", f"http://{host}:9")
    run("inbox")
    assert server.asked == []
    monkeypatch.setenv("PAUSEMESH_URL", "http://mesh.example")
    assert run("inbox").code == 0
    assert len(server.asked) == 1
