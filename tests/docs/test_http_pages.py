"""The commands of the pages on HTTP do what the pages say, on a real server."""

import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pausemesh
from tests.docs.pages import HOWTO, blocks, shell
from tests.environment import without_settings
from tests.server.follower import Follower
from tests.server.harness import SECONDS, Client, RunningServer
from tests.server.served import Served, key_of

FOLLOW = """
const { PAUSEMESH_URL, PAUSEMESH_API_KEY, POSITION } = process.env;
follow(`${PAUSEMESH_URL}/v1/events`, PAUSEMESH_API_KEY, (event) => console.log(event.nounId), POSITION);
"""


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with RunningServer() as running:
        yield running


@pytest.fixture
def agent(server: RunningServer) -> Iterator[Client]:
    with server.client("agent") as client:
        yield client


def environment(client: Client) -> dict[str, str]:
    url = f"http://127.0.0.1:{client.port}"
    return {"PAUSEMESH_URL": url, "PAUSEMESH_API_KEY": client.key or "", "NO_PROXY": "127.0.0.1"}


def printed_by(script: str, client: Client, folder: Path) -> list[str]:
    """Run a script, which must work; return what it printed, line by line."""
    done = shell(script, folder, **environment(client))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
def test_a_shell_asks_waits_answers_and_goes_on(agent: Client, tmp_path: Path) -> None:
    printed = printed_by("".join(blocks("call-over-http.md")), agent, tmp_path)
    assert printed == ["pending", "false", "started", "completed", "done"]


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that were started, and are ended with the test."""
    found: list[subprocess.Popen[str]] = []
    yield found
    for program in found:
        program.kill()
        program.wait(30)
        for stream in (program.stdout, program.stdin):
            if stream is not None:
                stream.close()


def following(words: list[str], client: Client, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words, env={**without_settings(), **environment(client), **more}, stdout=subprocess.PIPE, text=True
    )


def told(program: subprocess.Popen[str], wanted: str) -> str:
    """Read what it prints up to a line that has what is wanted, and return that line; it is ended where none comes."""
    assert program.stdout is not None
    patience = threading.Timer(SECONDS, program.kill)
    patience.start()
    try:
        return next(line for line in program.stdout if wanted in line)
    finally:
        patience.cancel()


def test_curl_follows_and_goes_on_at_a_position(agent: Client, started: list[subprocess.Popen[str]]) -> None:
    follow, go_on = blocks("follow-live.md")
    started.append(following(["bash", "-c", f"exec {follow}"], agent))
    told(started[0], "retry: 1000")
    told(started[0], "id: ")
    noun_id = agent.ask()["continuation"]["continuationId"]
    position = told(started[0], "id: ").removeprefix("id: ").strip()
    assert noun_id in told(started[0], "data: ")
    later = agent.ask()["continuation"]["continuationId"]
    started.append(following(["bash", "-c", f"exec {go_on}"], agent, POSITION=position))
    assert later in told(started[1], "data: ")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_javascript_goes_on_at_a_position(agent: Client, started: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    _, follow = blocks("follow-live.md", "js")
    (tmp_path / "follow.js").write_text(follow + FOLLOW, encoding="utf-8")

    with Follower(agent.port, agent.key or "") as follower:
        agent.ask()
        position = next(iter(follower)).position
    after = agent.ask()["continuation"]["continuationId"]
    started.append(following(["node", str(tmp_path / "follow.js")], agent, POSITION=position))
    assert after in told(started[0], "q_")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_javascript_misses_nothing_where_a_server_starts_anew_before_anything_happened(
    started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    _, follow = blocks("follow-live.md", "js")
    (tmp_path / "follow.js").write_text(follow + FOLLOW, encoding="utf-8")
    with Served(tmp_path) as served, served.client(key_of(served.database)) as admin:
        started.append(following(["node", str(tmp_path / "follow.js")], admin))
        assert served.until(lambda: "pausemesh_live_subscribers 1.0\n" in admin.get("/metrics").body.decode())
        with Follower(admin.port, admin.key or "") as later:
            later.begin()
        assert served.signal().wait() == 0
        with pausemesh.open_sync(served.database) as mesh:
            meanwhile = mesh.create(payload="?").continuation.id
        with Served(tmp_path, port=admin.port):
            assert meanwhile in told(started[0], "q_")


def test_an_admin_settles_a_doubt(server: RunningServer, agent: Client, tmp_path: Path) -> None:
    life = Life(server, agent)
    life.begin()
    life.release()
    (settle,) = blocks("settle-doubt.md")
    [printed] = printed_by(f"ID={life.id}\n{settle}", life.admin, tmp_path)
    assert printed.index('"status":"started"') < printed.index('"status":"completed"')
    life.admin.close()


class Life:
    """A question that is asked, answered and gone on with, to the point at which a call is repeated."""

    def __init__(self, server: RunningServer, agent: Client) -> None:
        self.clock = server.clock
        self.agent = agent
        self.admin = server.client("admin")
        self.asked = agent.ask(queue="q")
        self.id = self.asked["continuation"]["continuationId"]
        self.path = f"/v1/continuations/{self.id}"
        self.claim = f"/v1/claims/{self.id}"
        self.fence = {"fence": 1}

    def resume(self) -> Any:
        return self.agent.resume(self.asked, 1, key="r")

    def take(self) -> Any:
        self.resume()
        return self.agent.post(f"{self.path}/claim", {"worker": "w", "leaseSeconds": 60})

    def pass_time(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def post_begin(self, attempt: str | None) -> Any:
        return self.agent.post(f"{self.claim}/effects", {**self.fence, "key": "book"}, key=attempt)

    def begin(self) -> Any:
        self.take()
        return self.post_begin("try")

    def answer(self) -> Any:
        digest = self.asked["continuation"]["shownDigest"]
        return self.admin.post(f"{self.path}/answer", {"payload": 1, "shownDigest": digest}, key="a")

    def cancel(self) -> Any:
        return self.agent.post(f"{self.path}/cancel", {"reason": "off"})

    def reissue(self) -> Any:
        return self.agent.post(f"{self.path}/token", {"expectedVersion": 1})

    def take_next(self) -> Any:
        self.resume()
        return self.agent.post("/v1/claims", {"queue": "q", "worker": "w", "leaseSeconds": 60})

    def renew(self) -> Any:
        self.take()
        return self.agent.post(f"{self.claim}/renew", self.fence)

    def outcome(self) -> Any:
        self.begin()
        return self.agent.post(f"{self.claim}/effects/book/outcome", {**self.fence, "status": "completed", "result": 1})

    def done(self) -> Any:
        self.take()
        return self.agent.post(f"{self.claim}/done", {**self.fence, "result": 1})

    def release(self) -> Any:
        return self.agent.post(f"{self.claim}/release", self.fence)

    def fail(self) -> Any:
        return self.agent.post(f"{self.claim}/fail", {**self.fence, "reason": "down"})

    def resolve(self) -> Any:
        return self.admin.post(f"{self.path}/effects/book/resolve", {"outcome": "not_done", "evidence": "seen"})


def ask_again(life: Life) -> tuple[Any, Any]:
    first, again = (life.agent.post("/v1/continuations", {"payload": 1}, key="c") for _ in range(2))
    assert again.json == {"continuation": first.json["continuation"], "resumeToken": None}
    return first, again


def begin_under_another_name(life: Life) -> tuple[Any, Any]:
    first = life.begin()
    return first, life.post_begin("other")


def begin_without_a_name(life: Life) -> tuple[Any, Any]:
    life.take()
    return life.post_begin(None), life.post_begin(None)


def after_taking(call: Callable[[Life], Any]) -> Callable[[Life], tuple[Any, Any]]:
    def calls(life: Life) -> tuple[Any, Any]:
        life.take()
        return call(life), call(life)

    return calls


def take_again(life: Life) -> tuple[Any, Any]:
    first = life.take()
    return first, life.agent.post(f"{life.path}/claim", {"worker": "w", "leaseSeconds": 60})


def resolve_again(life: Life) -> tuple[Any, Any]:
    life.begin()
    life.release()
    return life.resolve(), life.resolve()


def begin_again_once_the_lease_is_over(life: Life) -> tuple[Any, Any]:
    first = life.begin()
    life.pass_time(61)
    return first, life.post_begin("try")


def begin_again_once_the_lease_is_over_and_it_has_an_outcome(life: Life) -> tuple[Any, Any]:
    first = life.begin()
    life.agent.post(f"{life.claim}/effects/book/outcome", {**life.fence, "status": "completed", "result": 1})
    life.pass_time(61)
    return first, life.post_begin("try")


def resume_again_after_the_deadline(life: Life) -> tuple[Any, Any]:
    first = life.resume()
    life.pass_time(30 * 86_400)
    return first, life.resume()


def resume_with_another_payload(life: Life) -> tuple[Any, Any]:
    return life.resume(), life.agent.resume(life.asked, 2, key="r")


def ask_again_without_a_key(life: Life) -> tuple[Any, Any]:
    first, again = (life.agent.post("/v1/continuations", {"payload": 1}) for _ in range(2))
    assert first.json["continuation"]["continuationId"] != again.json["continuation"]["continuationId"]
    return first, again


def twice(call: Callable[[Life], Any]) -> Callable[[Life], tuple[Any, Any]]:
    return lambda life: (call(life), call(life))


REPLAYED = '`"replayed": true`'


class Repeat(NamedTuple):
    """Calls of a row of the page, the status of the repeat, and the code or the word that the row says of it."""

    row: str
    calls: Callable[[Life], tuple[Any, Any]]
    status: int
    said: str


REPEATS = [
    Repeat("any GET", twice(lambda life: life.agent.get(life.path)), 200, ""),
    Repeat("`POST /v1/continuations`", ask_again, 200, ""),
    Repeat("`POST /v1/continuations`", ask_again_without_a_key, 201, ""),
    Repeat("`…/resume`, `…/answer`", twice(Life.resume), 200, REPLAYED),
    Repeat("`…/resume`, `…/answer`", resume_again_after_the_deadline, 200, REPLAYED),
    Repeat("`…/resume`, `…/answer`", twice(Life.answer), 200, REPLAYED),
    Repeat("`…/resume`, `…/answer`", resume_with_another_payload, 422, "IDEMPOTENCY_CONFLICT"),
    Repeat("`…/cancel`", twice(Life.cancel), 200, ""),
    Repeat("`…/token`", twice(Life.reissue), 409, "VERSION_CONFLICT"),
    Repeat("`…/claim`", take_again, 409, "CLAIM_HELD"),
    Repeat("`POST /v1/claims`", twice(Life.take_next), 204, ""),
    Repeat("`…/renew`", after_taking(Life.renew), 200, ""),
    Repeat("`…/effects`", twice(Life.begin), 200, REPLAYED),
    Repeat("`…/effects`", begin_under_another_name, 409, "EFFECT_UNKNOWN"),
    Repeat("`…/effects`", begin_without_a_name, 409, "EFFECT_UNKNOWN"),
    Repeat("`…/effects`, the lease over", begin_again_once_the_lease_is_over, 409, "EFFECT_UNKNOWN"),
    Repeat("`…/effects`, the lease over", begin_again_once_the_lease_is_over_and_it_has_an_outcome, 200, ""),
    Repeat("`…/outcome`, `…/done`, `…/fail`", twice(Life.outcome), 200, ""),
    Repeat("`…/outcome`, `…/done`, `…/fail`", twice(Life.done), 200, ""),
    Repeat("`…/outcome`, `…/done`, `…/fail`", after_taking(Life.fail), 200, ""),
    Repeat("`…/release`", after_taking(Life.release), 409, "LEASE_LOST"),
    Repeat("`…/resolve`", resolve_again, 200, ""),
]


@pytest.fixture(scope="module")
def rows() -> dict[str, str]:
    """What the page says of a repeat, by the call."""
    page = (HOWTO / "call-over-http.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| (.+?) \| (.+) \|$", page.partition("| call | a repeat |")[2], re.MULTILINE))


def test_every_row_of_the_page_and_every_refusal_in_it_is_tried(rows: dict[str, str]) -> None:
    assert rows.keys() == {repeat.row for repeat in REPEATS}
    said = {(row, code) for row, text in rows.items() for code in re.findall(r"4\d\d `([A-Z_]+)`", text)}
    assert said == {(repeat.row, repeat.said) for repeat in REPEATS if repeat.status >= 400}


@pytest.mark.parametrize("repeat", REPEATS, ids=[f"{number} {one.row}" for number, one in enumerate(REPEATS)])
def test_a_repeat_is_answered_as_the_page_says(
    server: RunningServer, agent: Client, rows: dict[str, str], repeat: Repeat
) -> None:
    life = Life(server, agent)
    first, again = repeat.calls(life)
    life.admin.close()
    assert first.status in {200, 201}
    assert again.status == repeat.status
    assert repeat.said in rows[repeat.row]
    if repeat.said == REPLAYED:
        assert (first.json["replayed"], again.json["replayed"]) == (False, True)
    elif repeat.said:
        assert again.json["code"] == repeat.said
