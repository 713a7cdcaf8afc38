"""What clients were told over HTTP is held against the file, and each kind of untruth is found."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import pausemesh
from pausemesh import SqliteEventStore, continuation_to_json
from proofs.http.check import compare
from proofs.http.places import Places
from proofs.http.told import Told
from proofs.http.wire import end_of_message
from proofs.stored_file import StoredFile

AGENT = pausemesh.Principal(id="robot", role=pausemesh.Role.AGENT)

Lines: TypeAlias = list[dict[str, Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.db"


@pytest.fixture
def said(path: Path) -> Lines:
    """What honest clients would say of a question that was asked, answered, and carried out."""
    return asyncio.run(live(path))


async def live(path: Path) -> Lines:
    store = await SqliteEventStore.open(path, pausemesh.SystemClock())
    async with pausemesh.open(store) as mesh:
        created = await mesh.create(payload=1, correlation_id="m1", idempotency_key="m1", by=AGENT)
        noun_id, token = created.continuation.id, created.resume_token
        assert token is not None
        outcome = await mesh.resume(noun_id, token=token, idempotency_key="m2", payload=2, by=AGENT)
        _, lease = await mesh.fenced.take(noun_id, worker="m3", lease=timedelta(seconds=60), by=AGENT)
        await mesh.fenced.start_effect(noun_id, 1, key="act", attempt="m4", by=AGENT)
        await mesh.fenced.record_outcome(noun_id, 1, "act", completed=True, result={"mark": "m4"}, by=AGENT)
        await mesh.fenced.finish(noun_id, 1, result="m5", by=AGENT)
    await store.close()
    asked, answered = (json.loads(json.dumps(continuation_to_json(one.continuation))) for one in (created, outcome))
    started = {"effect": {"key": "act", "status": "started"}, "replayed": False}
    completed = {"effect": {"key": "act", "status": "completed", "result": {"mark": "m4"}}}
    effect: dict[str, Any] = {"id": noun_id, "fence": lease.fence, "key_of_effect": "act"}
    return [
        *asking(1, "create", "m1", {"continuation": asked, "resumeToken": token}, status=201, expires=False),
        *asking(2, "resume", "m2", {"continuation": answered, "replayed": False}, id=noun_id),
        *asking(3, "claim", "m3", {"claim": {"fence": 1}}, id=noun_id),
        *asking(4, "start", "m4", started, **effect),
        *asking(5, "outcome", "m4", completed, completed=True, **effect),
        *asking(6, "done", "m5", {}, id=noun_id, fence=1),
        {"ran": [noun_id, "act"]},
    ]


def asking(number: int, do: str, mark: str, body: Any, *, status: int = 200, **about: Any) -> Lines:
    return [{"n": number, "do": do, "mark": mark, **about}, answer(number, body, status=status)]


def answer(number: int, body: Any, *, status: int = 200, life: int = 1, digest: str = "d") -> dict[str, Any]:
    return {"n": number, "life": life, "status": status, "body": body, "digest": digest}


def found(said: Lines, path: Path, ends: tuple[int, ...] = ()) -> set[str]:
    stored = StoredFile(path)
    findings = compare(Told(said), stored, Places(stored, ends))
    return {message.partition(":")[0] for message in findings.messages}


def test_the_truth_is_not_objected_to(said: Lines, path: Path) -> None:
    assert found(said, path) == set()


def changed(number: int, **members: Any) -> Callable[[Lines], None]:
    """Let the answer to a request be another."""

    def change(said: Lines) -> None:
        [line] = [line for line in said if line.get("n") == number and "status" in line]
        line |= members

    return change


def also(*lines: dict[str, Any]) -> Callable[[Lines], None]:
    """Let more be said."""
    return lambda said: said.extend(lines)


REFUSED = {"code": "TOKEN_ALREADY_USED"}


UNTRUTHS = {
    "an answer that is not stored": (
        also(*asking(7, "resume", "m9", {"replayed": False, "continuation": {}}, id="x")),
        "lost",
    ),
    "a question of another id": (
        changed(1, status=200, body={"continuation": {"continuationId": "q"}, "resumeToken": None}),
        "lost",
    ),
    "an end that is denied": (changed(6, status=409, body={"code": "LEASE_LOST"}), "lies"),
    "an answer that is denied": (changed(2, status=409, body=REFUSED), "lies"),
    "a claim that is denied": (changed(3, status=409, body={"code": "CLAIM_HELD"}), "lies"),
    "a question that is denied": (changed(2, status=404, body={"code": "CONTINUATION_NOT_FOUND"}), "astray"),
    "an answer that is taken back": (also(answer(2, REFUSED, status=409)), "differing"),
    "an answer of other bytes": (
        also(answer(5, {"effect": {"status": "completed", "result": {"mark": "m4"}}}, digest="other")),
        "differing",
    ),
}


@pytest.mark.parametrize("name", UNTRUTHS)
def test_each_untruth_is_found(said: Lines, path: Path, name: str) -> None:
    untruth, kind = UNTRUTHS[name]
    untruth(said)
    assert kind in found(said, path)


def test_a_repeat_that_is_told_as_new_is_a_lie(said: Lines, path: Path) -> None:
    [repeat] = [line for line in said if line.get("n") == 2 and "status" in line]
    assert found([*said, {**repeat, "body": {**repeat["body"], "replayed": True}}], path) == set()
    assert "lies" in found([*said, repeat], path)


def test_what_is_found_done_must_have_been_tried_before(said: Lines, path: Path) -> None:
    [told] = [line for line in said if line.get("n") == 2 and "status" in line]
    told |= {"life": 2, "body": {**told["body"], "replayed": True}}
    everything = (len(said),)
    assert "lies" in found(said, path, everything)
    said.insert(said.index(told), {"n": 2, "cut": 1})
    assert found(said, path, everything) == set()
    told["body"]["replayed"] = False
    assert "lies" in found(said, path, everything)


def test_two_that_are_told_to_run_one_effect_are_found(said: Lines, path: Path) -> None:
    [start] = [line for line in said if line.get("do") == "start"]
    started = {"effect": {"key": "act", "status": "started"}, "replayed": True}
    said += [{**start, "n": 9, "mark": "m6"}, answer(9, started)]
    assert "second starts" in found(said, path)


def test_two_that_are_told_to_have_decided_are_found(said: Lines, path: Path) -> None:
    [resume] = [line for line in said if line.get("do") == "resume"]
    [told] = [line for line in said if line.get("n") == 2 and "status" in line]
    said += [{**resume, "n": 9, "mark": "m9"}, {**told, "n": 9}]
    assert "second answers" in found(said, path)


@pytest.mark.parametrize(
    "head", [b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n"]
)
def test_a_message_ends_where_it_says(head: bytes) -> None:
    whole = head + b"{}"
    assert end_of_message(whole + b"more") == len(whole)
    assert [end_of_message(whole[:size]) for size in range(len(whole))] == [None] * len(whole)
    assert end_of_message(b"GET / HTTP/1.1\r\n\r\n") == 18
