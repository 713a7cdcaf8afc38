"""A server's answers become the same outcomes as a database's, whatever the server and the network do."""

import hashlib
import json
from typing import Any

import httpx2
import pytest

import pausemesh
from pausemesh.cli.answering import Answering
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.http_questions import HttpQuestions
from pausemesh.cli.questions import Filters, find
from pausemesh.cli.refusal import Refused
from pausemesh.cli.settling import settle
from pausemesh.cli.terminal import standard_console
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.values import JsonValue

KEY = "pmk_" + "a" * 49
PENDING: dict[str, JsonValue] = {"continuationId": "q 1", "status": "pending", "payload": None, "expiresAt": None}
DONE = {"continuation": {**PENDING, "status": "resumed"}, "replayed": False}


def opened(
    *replies: httpx2.Response | BaseException, url: str = "http://mesh"
) -> tuple[HttpQuestions, list[httpx2.Request]]:
    """A server that replies like this one time after the other, and the requests that it got."""
    left, seen = [*replies], list[httpx2.Request]()

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    return HttpQuestions(url, KEY, transport=httpx2.MockTransport(handle)), seen


def problem(status: int, code: str, **headers: str) -> httpx2.Response:
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    return httpx2.Response(status, json={"title": "No.", "status": status, "code": code}, headers=sent)


def answer(questions: HttpQuestions, key: str = "k") -> Any:
    return questions.answer("q 1", idempotency_key=key, payload={"ä": [1.5, None]}, shown_digest="d")


def refusal_of(reply: httpx2.Response | Exception, *, changes: bool = True) -> Refused:
    questions, _ = opened(reply)
    with questions, pytest.raises(Refused) as refusal:
        answer(questions) if changes else questions.get("q 1")
    return refusal.value


def test_requests_are_those_of_the_http_surface() -> None:
    questions, seen = opened(
        httpx2.Response(200, json={"continuations": [], "nextCursor": None}),
        httpx2.Response(200, json={"continuation": PENDING}),
        httpx2.Response(200, json={"events": [{"version": 1}, 5]}),
        httpx2.Response(200, json=DONE),
        url="https://mesh.example:8443/base/",
    )
    with questions:
        find(questions, Filters(status="pending", correlation_id="ä b"), most=7)
        assert questions.get("q 1") == PENDING
        assert questions.history("q 1") == [{"version": 1}]
        assert answer(questions, key='my "key" \\x') == DONE
        questions.cancel("q 1", reason=None)
        questions.cancel("q 1", reason="off")
    base = "https://mesh.example:8443/base/v1/continuations"
    assert [(request.method, str(request.url)) for request in seen] == [
        ("GET", f"{base}?status=pending&correlationId=%C3%A4+b&limit=7"),
        ("GET", f"{base}/q%201"),
        ("GET", f"{base}/q%201/events"),
        ("POST", f"{base}/q%201/answer"),
        ("POST", f"{base}/q%201/cancel"),
        ("POST", f"{base}/q%201/cancel"),
    ]
    assert {request.headers["authorization"] for request in seen} == {f"Bearer {KEY}"}
    assert seen[3].headers["idempotency-key"] == r'"my \"key\" \\x"'
    assert [json.loads(request.content) for request in seen[3:]] == [
        {"payload": {"ä": [1.5, None]}, "shownDigest": "d"}, {}, {"reason": "off"}
    ]  # fmt: skip
    assert "idempotency-key" not in seen[4].headers


def test_pages_are_followed_until_there_are_enough() -> None:
    first = {"continuations": [PENDING, PENDING, "junk"], "nextCursor": "c1"}
    second = {"continuations": [PENDING], "nextCursor": None}
    for most, count, cursor in ((None, 3, None), (2, 2, "c1"), (3, 3, None), (10, 3, None)):
        questions, seen = opened(httpx2.Response(200, json=first), httpx2.Response(200, json=second))
        with questions:
            found = find(questions, Filters(), most=most)
        assert (len(found.continuations), found.next_cursor) == (count, cursor)
        assert [request.url.params.get("cursor") for request in seen] == [None, "c1"][: len(seen)]


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (404, "CONTINUATION_NOT_FOUND", Exit.NOT_FOUND),
        (409, "TOKEN_ALREADY_USED", Exit.CONFLICT),
        (410, "CONTINUATION_EXPIRED", Exit.CONFLICT),
        (422, "IDEMPOTENCY_CONFLICT", Exit.CONFLICT),
        (422, "ANSWER_INVALID", Exit.INVALID_ANSWER),
        (401, "UNAUTHENTICATED", Exit.REFUSED),
        (403, "FORBIDDEN", Exit.REFUSED),
        (400, "INVALID_REQUEST", Exit.USAGE),
        (429, "RATE_LIMITED", Exit.UNAVAILABLE),
        (503, "STORE_UNAVAILABLE", Exit.UNAVAILABLE),
        (503, "OVERLOADED", Exit.UNAVAILABLE),
        (507, "STORE_FULL", Exit.UNAVAILABLE),
        (503, "OUTCOME_UNKNOWN", Exit.UNKNOWN),
        (409, "OF_A_NEWER_SERVER", Exit.CONFLICT),
    ],
)
def test_a_problem_document_is_the_same_outcome_as_the_librarys_error(status: int, code: str, exit_code: Exit) -> None:
    refusal = refusal_of(problem(status, code))
    assert (refusal.code, refusal.exit) == (code, exit_code)


def test_a_servers_retry_after_is_kept() -> None:
    assert refusal_of(problem(429, "RATE_LIMITED", retry_after="7")).retry_seconds == 7
    for text in ("soon", "-1", "9" * 30, ""):
        assert refusal_of(problem(429, "RATE_LIMITED", retry_after=text)).retry_seconds is None


@pytest.mark.parametrize("error", [httpx2.ConnectError("x"), httpx2.ConnectTimeout("x"), httpx2.PoolTimeout("x")])
def test_without_a_connection_nothing_was_sent(error: Exception) -> None:
    for changes in (True, False):
        refusal = refusal_of(error, changes=changes)
        assert (refusal.code, refusal.exit) == ("SERVER_UNAVAILABLE", Exit.UNAVAILABLE)


@pytest.mark.parametrize(
    "reply",
    [
        httpx2.ReadTimeout("x"),
        httpx2.ReadError("x"),
        httpx2.WriteError("x"),
        httpx2.RemoteProtocolError("x"),
        httpx2.Response(500, json={"code": "INTERNAL_ERROR"}),
        httpx2.Response(502, text="Bad gateway"),
        httpx2.Response(503, text="<html>"),
        httpx2.Response(504),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, json=[1]),
        httpx2.Response(200, json={}),
        httpx2.Response(200, json={"continuation": 5}),
        httpx2.Response(200, content=b'{"continuation": {'),
    ],
)
def test_where_the_answer_is_lost_it_may_have_been_recorded(reply: httpx2.Response | Exception) -> None:
    refusal = refusal_of(reply)
    assert (refusal.code, refusal.exit) == ("OUTCOME_UNKNOWN", Exit.UNKNOWN)


def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    questions, seen = opened(
        httpx2.ReadError("x"), problem(503, "STORE_UNAVAILABLE", retry_after="2"), httpx2.Response(200, json=DONE)
    )
    pauses: list[float] = []
    with questions:
        assert settle(lambda: answer(questions), pause=pauses.append) == DONE
    assert (len({request.headers["idempotency-key"] for request in seen}), len(seen)) == (1, 3)
    assert len({request.content for request in seen}) == 1
    assert pauses == [0.2, 2.0]


def test_reading_changes_nothing_so_that_a_lost_answer_is_no_doubt() -> None:
    for reply in (httpx2.ReadError("x"), httpx2.Response(502), httpx2.Response(500, json={"code": "INTERNAL_ERROR"})):
        assert refusal_of(reply, changes=False).exit is Exit.UNAVAILABLE


@pytest.mark.parametrize(
    ("reply", "exit_code"),
    [
        (httpx2.Response(404, text="<h1>nginx</h1>"), Exit.NOT_FOUND),
        (httpx2.Response(301, headers={"location": "http://elsewhere"}), Exit.USAGE),
        (httpx2.Response(200, text="<h1>hello</h1>"), Exit.USAGE),
        (httpx2.Response(403, json={"code": 5}), Exit.REFUSED),
        (httpx2.Response(404, content=b'{"code": "A", "code": "B"}'), Exit.NOT_FOUND),
    ],
)
def test_what_is_no_pausemesh_is_told_so_and_never_followed(reply: httpx2.Response, exit_code: Exit) -> None:
    refusal = refusal_of(reply, changes=False)
    assert (refusal.code, refusal.exit) == (f"HTTP_{reply.status_code}", exit_code)
    assert "PAUSEMESH_URL" in str(refusal)


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    def endless() -> Any:
        while True:
            yield b" " * 2**22

    assert refusal_of(httpx2.Response(200, content=endless()), changes=False).code == "HTTP_200"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mesh",
        "ftp://mesh",
        "http://",
        "http://me:secret@mesh",
        "http://mesh?x=secret",
        "http://mesh#secret",
        "http://mesh:secret",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(pausemesh.InvalidRequest, match="PAUSEMESH_URL") as refusal:
        HttpQuestions(url, KEY)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("key", ["", " ", "secret secret", "secret\nsecret", "secretä"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(pausemesh.InvalidRequest, match="PAUSEMESH_API_KEY") as refusal:
        HttpQuestions("http://mesh", key)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(("noun_id", "key", "error"), [
    ("a/b", "k", pausemesh.ContinuationNotFound),
    ("..", "k", pausemesh.ContinuationNotFound),
    ("q", "ä", pausemesh.IdempotencyKeyInvalid),
    ("q", "a\r\nb", pausemesh.IdempotencyKeyInvalid),
])  # fmt: skip
def test_what_no_server_would_take_is_not_sent(noun_id: str, key: str, error: type[PauseMeshError]) -> None:
    questions, seen = opened(httpx2.Response(200, json=DONE))
    with questions, pytest.raises(error):
        questions.answer(noun_id, idempotency_key=key, payload=1, shown_digest="d")
    assert seen == []


def test_the_digest_is_made_of_what_was_shown_and_not_of_what_the_server_says() -> None:
    shown: dict[str, JsonValue] = {**PENDING, "payload": {"message": "x"}, "shownDigest": "of something else"}
    questions, seen = opened(httpx2.Response(200, json=DONE))
    with questions:
        Answering(questions, shown, "k").send(1)
    digest = hashlib.sha256(b'["shown-v1","q 1",{"message":"x"},null]').hexdigest()
    assert json.loads(seen[0].content)["shownDigest"] == digest


@pytest.mark.parametrize("expires", ["soon", "2030-01-01"])
def test_what_cannot_be_digested_is_not_answered(expires: str) -> None:
    questions, seen = opened(httpx2.Response(200, json=DONE))
    with questions, pytest.raises(Refused) as refusal:
        Answering(questions, {**PENDING, "expiresAt": expires}, "k").send(1)
    assert (refusal.value.code, seen) == ("DIGEST_MISMATCH", [])


def test_nothing_is_typed_for_a_question_that_this_release_cannot_read() -> None:
    questions, seen = opened(httpx2.Response(200, json={"events": []}))
    with questions, pytest.raises(Refused) as refusal:
        Answering(questions, {**PENDING, "payload": {"kind": "poll"}}, "k").ask(standard_console(), confirmed=True)
    assert refusal.value.code == "INVALID_REQUEST"
    assert {request.method for request in seen} == {"GET"}


def test_an_unknown_outcome_says_which_key_settles_it() -> None:
    questions, _ = opened(httpx2.Response(507, json={"code": "OUTCOME_UNKNOWN"}))
    with questions, pytest.raises(Refused) as refusal:
        Answering(questions, PENDING, "ticket-7", pause=lambda _: None).send(1)
    assert "--idempotency-key ticket-7" in str(refusal.value)
    assert refusal.value.problem["idempotencyKey"] == "ticket-7"


def test_an_interrupt_while_it_is_sent_leaves_the_outcome_unknown() -> None:
    questions, seen = opened(KeyboardInterrupt())
    with questions, pytest.raises(Refused) as refusal:
        Answering(questions, PENDING, "ticket-7").send(1)
    assert (refusal.value.exit, len(seen)) == (Exit.UNKNOWN, 1)
    assert "Interrupted" in str(refusal.value)
    assert "--idempotency-key ticket-7" in str(refusal.value)
