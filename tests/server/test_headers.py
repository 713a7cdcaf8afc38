"""Idempotency keys, resume tokens, and where neither may stand."""

from typing import Any

import pytest

import pausemesh
from pausemesh.server.errors import BadTransport, HeadersTooLarge, UriTooLong
from pausemesh.server.exchange import require_readable
from pausemesh.server.headers import read_headers
from pausemesh.server.limits import HEADER_BYTES, URL_BYTES
from tests.server.answers import Reply, require_problem
from tests.server.calls import Givens, Wish
from tests.server.harness import Client, RunningServer


def resume_path(created: Any) -> str:
    return f"/v1/continuations/{created['continuation']['continuationId']}/resume"


def resume(server: RunningServer, editor: Client, created: Any, key: str) -> Reply:
    """Answer under a key that is sent as it is."""
    headers = {"Authorization": f"PauseMesh {created['resumeToken']}", "Idempotency-Key": key}
    wish = Wish("POST", resume_path(created), {"payload": 1}, key=editor.key, headers=headers)
    with server.wire() as wire:
        return wire.send(wish.wire()).reply()


@pytest.mark.parametrize(
    "key", ["k", '"k"', "  k  ", ' "k" ', "\tk", '" k "', '"\\"k\\\\"', "k" * 200, f'"{"k" * 200}"', "a b,c;d=e"]
)
def test_a_key_is_one_whatever_its_dress(server: RunningServer, editor: Client, key: str) -> None:
    created = editor.ask()
    assert resume(server, editor, created, key).json["replayed"] is False
    assert resume(server, editor, created, key).json["replayed"] is True


@pytest.mark.parametrize(("key", "same"), [("k", '"k"'), ("k", " k "), ('"a\\"b"', 'a"b'), ("200", '"200"')])
def test_quoted_and_bare_are_the_same_key(server: RunningServer, editor: Client, key: str, same: str) -> None:
    created = editor.ask()
    first = resume(server, editor, created, key).json
    assert resume(server, editor, created, same).json == {**first, "replayed": True}


@pytest.mark.parametrize("key", ["", '""', " ", '" "', "k" * 201, f'"{"k" * 201}"', "\xe9", '"\xe9"'])
def test_a_key_that_is_none_is_400(server: RunningServer, editor: Client, key: str) -> None:
    reply = resume(server, editor, editor.ask(), key)
    assert reply.outcome == (400, "IDEMPOTENCY_KEY_INVALID")
    require_problem(reply)


def test_two_keys_are_none_even_if_they_are_the_same(server: RunningServer, editor: Client) -> None:
    created = editor.ask()
    wish = Wish("POST", resume_path(created), {"payload": 1}, key=editor.key)
    wish.headers = {"Authorization": f"PauseMesh {created['resumeToken']}"}
    wish.extra_lines = ("Idempotency-Key: k", "idempotency-key: k")
    with server.wire() as wire:
        assert wire.send(wish.wire()).reply().outcome == (400, "IDEMPOTENCY_KEY_INVALID")


def test_no_key_is_400_where_one_is_needed(editor: Client) -> None:
    created = editor.ask()
    reply = editor.post(resume_path(created), {"payload": 1}, token=created["resumeToken"])
    assert reply.outcome == (400, "IDEMPOTENCY_KEY_REQUIRED")


def bad_tokens(token: str, foreign: str) -> dict[str, str]:
    """What is not the token, and looks more or less like it."""
    swapped = token[:10] + token[11] + token[10] + token[12:]
    return {
        "another scheme": f"Bearer {token}",
        "no scheme": token,
        "no token": "PauseMesh",
        "an empty one": "PauseMesh ",
        "a truncated one": f"PauseMesh {token[:-1]}",
        "a longer one": f"PauseMesh {token}0",
        "two of them": f"PauseMesh {token} {token}",
        "one with quotes": f'PauseMesh "{token}"',
        "one in capitals": f"PauseMesh {token.upper()}",
        "one with two letters swapped": f"PauseMesh {swapped if swapped != token else token[:-1]}",
        "that of another question": f"PauseMesh {foreign}",
        "one that was never issued": f"PauseMesh {pausemesh.Sha256TokenIssuer().issue()}",
        "10 kB": f"PauseMesh pmr_{'a' * 10_000}",
        "one that is not ASCII": "PauseMesh pmr_" + "\xe9" * 49,
    }


TOKEN_NAMES = list(bad_tokens("a" * 53, "b" * 53))


@pytest.mark.parametrize("name", TOKEN_NAMES)
def test_a_wrong_token_is_the_same_401_in_every_state(server: RunningServer, name: str) -> None:
    given, bodies = Givens(server), set()
    given.question()
    foreign = given.token
    for make in (given.question, given.resumed, given.cancelled, given.expired):
        found = make()
        credential = bad_tokens(given.token, foreign)[name]
        headers = {"Authorization": credential, "Idempotency-Key": "first"}
        wish = Wish("POST", f"/v1/continuations/{found}/resume", {"payload": {"flight": "AZ2"}}, headers=headers)
        wish.key = server.key("editor")
        before = server.last_seq
        with server.wire() as wire:
            reply = wire.send(wish.wire()).reply()
        assert reply.outcome == (401, "TOKEN_MISMATCH")
        require_problem(reply)
        assert given.token not in reply.body.decode()
        assert server.last_seq == before
        bodies.add(reply.body)
    assert len(bodies) == 1


@pytest.mark.parametrize("scheme", ["PauseMesh", "pausemesh", "PAUSEMESH"])
def test_the_scheme_is_known_in_any_case(editor: Client, scheme: str) -> None:
    created = editor.ask()
    headers = {"Authorization": f"{scheme}  {created['resumeToken']}"}
    assert editor.post(resume_path(created), {"payload": 1}, key="k", headers=headers).status == 200


@pytest.mark.parametrize(
    "query",
    [
        "token={}",
        "access_token={}",
        "api_key=short",
        "apikey=short",
        "x={}",
        "{}",
        "Authorization=PauseMesh%20{}",
        "%74oken=short",
        "x=%70mr_{}",
    ],
)
def test_a_credential_in_the_url_is_400_and_is_not_used(editor: Client, query: str) -> None:
    created = editor.ask()
    path = f"{resume_path(created)}?{query.format(created['resumeToken'])}"
    assert editor.post(path, {"payload": 1}, key="k").outcome == (400, "CREDENTIAL_IN_URL")
    assert editor.post(path, {"payload": 1}, key="k", token=created["resumeToken"]).code == "CREDENTIAL_IN_URL"
    path = f"/v1/continuations/{created['continuation']['continuationId']}"
    assert editor.get(path).json["continuation"]["status"] == "pending"


def test_a_credential_in_the_path_is_400(editor: Client) -> None:
    created = editor.ask()
    assert editor.get(f"/v1/continuations/{created['resumeToken']}").outcome == (400, "CREDENTIAL_IN_URL")
    assert editor.get(f"/{editor.key}").outcome == (400, "CREDENTIAL_IN_URL")


@pytest.mark.parametrize("name", ["token", "resumeToken", "authorization"])
def test_a_token_in_the_body_is_400_and_is_not_used(editor: Client, name: str) -> None:
    created = editor.ask()
    body = {"payload": 1, name: created["resumeToken"]}
    assert editor.post(resume_path(created), body, key="k").outcome == (400, "INVALID_REQUEST")


def test_a_well_formed_token_for_an_id_that_there_is_not_is_404(editor: Client) -> None:
    created = editor.ask()
    path = "/v1/continuations/unknown/resume"
    reply = editor.post(path, {"payload": 1}, key="k", token=created["resumeToken"])
    assert reply.outcome == (404, "CONTINUATION_NOT_FOUND")


class TestInAnotherServer:
    """What the server of a host lets through is read as strictly as what comes by ours."""

    @pytest.mark.parametrize(
        "raw",
        [
            [],
            [(b"host", b"a"), (b"host", b"a")],
            [(b"host", b"a"), (b"authorization", b"Bearer x"), (b"authorization", b"Bearer y")],
            [(b"host", b"a"), (b"x-api-key", b"x"), (b"x-api-key", b"x")],
            [(b"host", b"a"), (b"content-type", b"application/json"), (b"content-type", b"text/plain")],
            [(b"host", b"a"), (b"x", b"a\x00b")],
            [(b"host", b"a"), (b"x", b"a\r\nb: c")],
            [(b"host", b"a"), (b"content-length", b"1"), (b"transfer-encoding", b"chunked")],
            [(b"host", b"a"), (b"content-length", b"-1")],
            [(b"host", b"a"), (b"content-length", b"1, 1")],
            [(b"host", b"a"), (b"transfer-encoding", b"gzip, chunked")],
        ],
    )
    def test_a_head_that_cannot_be_read_without_doubt_is_refused(self, raw: list[tuple[bytes, bytes]]) -> None:
        with pytest.raises(BadTransport):
            read_headers(raw, http_version="1.1")

    def test_headers_beyond_their_limit_are_refused(self) -> None:
        fits = [(b"host", b"a"), (b"x", b"a" * (HEADER_BYTES - len(b"host:a\r\nx:\r\n")))]
        assert read_headers(fits, http_version="1.1")[b"host"] == b"a"
        with pytest.raises(HeadersTooLarge):
            read_headers([*fits, (b"y", b"")], http_version="1.1")

    def test_other_headers_may_stand_as_often_as_they_like(self) -> None:
        raw = [(b"host", b"a"), (b"accept", b"a"), (b"accept", b"b"), (b"transfer-encoding", b"Chunked")]
        assert read_headers(raw, http_version="2")[b"accept"] == b"b"
        assert read_headers([], http_version="1.0") == {}

    def test_a_url_beyond_its_limit_is_refused(self) -> None:
        scope = {"raw_path": b"/" + b"a" * (URL_BYTES - 3), "query_string": b"b", "headers": [(b"host", b"a")]}
        assert require_readable(scope) == {b"host": b"a"}
        with pytest.raises(UriTooLong):
            require_readable({**scope, "query_string": b"bc"})
