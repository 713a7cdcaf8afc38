"""Bodies that are not what they must be: each is refused with its reason, and nothing is stored."""

from typing import Any

import pytest

import pausemesh
from pausemesh.core.limits import JSON_DEPTH, JSON_KEY_CHARACTERS, JSON_VALUES, PAYLOAD_BYTES, JsonLimits
from pausemesh.server.settings import Parser
from tests.server.answers import Reply
from tests.server.harness import Client, RunningServer

JSON = {"Content-Type": "application/json"}
PATH = "/v1/continuations"

NO_JSON = {
    "nothing": (b"", "malformed"),
    "blanks": (b"  \n", "malformed"),
    "half an object": (b'{"payload": 1', "malformed"),
    "a trailing comma": (b'{"payload": 1,}', "malformed"),
    "a comment": (b'{"payload": 1} // no', "malformed"),
    "trailing text": (b'{"payload": 1} {}', "malformed"),
    "single quotes": (b"{'payload': 1}", "malformed"),
    "a leading zero": (b'{"payload": 01}', "malformed"),
    "a control character": (b'{"payload": "\x01"}', "malformed"),
    "a byte order mark": (b'\xef\xbb\xbf{"payload": 1}', "not_utf8"),
    "no UTF-8": (b'{"payload": "\xff"}', "not_utf8"),
    "UTF-16": ('{"payload": 1}'.encode("utf-16"), "not_utf8"),
    "an overlong form": (b'{"payload": "\xc0\x80"}', "not_utf8"),
    "a name twice": (b'{"payload": 1, "payload": 2}', "duplicate_key"),
    "a name twice in the payload": (b'{"payload": {"a": 1, "\\u0061": 2}}', "duplicate_key"),
    "NaN": (b'{"payload": NaN}', "not_finite"),
    "Infinity": (b'{"payload": -Infinity}', "not_finite"),
    "1e400": (b'{"payload": 1e400}', "number_out_of_range"),
    "2^53": (b'{"payload": 9007199254740992}', "number_out_of_range"),
    "an endless integer": (b'{"payload": ' + b"9" * 5_000 + b"}", "number_out_of_range"),
    "U+0000": (b'{"payload": "\\u0000"}', "nul_character"),
    "half a surrogate pair": (b'{"payload": "\\ud800"}', "lone_surrogate"),
    "65 levels": (b'{"payload": ' + b"[" * 65 + b"]" * 65 + b"}", "too_deep"),
    "900 levels": (b'{"payload": ' + b"[" * 900 + b"]" * 900 + b"}", "too_deep"),
    "brackets alone": (b"[" * 60_000, "too_deep"),
    "a long name": (b'{"payload": {"' + b"a" * 257 + b'": 1}}', "string_too_long"),
}

NO_SHAPE: dict[str, tuple[Any, str]] = {
    "no object": ([], ""),
    "a text": ("payload", ""),
    "no payload": ({}, "/payload"),
    "an unknown member": ({"payload": 1, "canary-unknown": 1}, ""),
    "a prototype": ({"payload": 1, "__proto__": {"canary-unknown": 1}}, ""),
    "a name in another case": ({"payload": 1, "correlation_id": "canary-value"}, ""),
    "a name that looks like a place": ({"payload": 1, "x` - at `$.canary-unknown": 1}, ""),
    "no text for an id": ({"payload": 1, "correlationId": 5}, "/correlationId"),
    "null for an id": ({"payload": 1, "continuationId": None}, "/continuationId"),
    "an id with an emoji": ({"payload": 1, "continuationId": "canary-\N{GRINNING FACE}"}, "/continuationId"),
    "an id with a slash": ({"payload": 1, "continuationId": "canary/value"}, "/continuationId"),
    "an id with a line end": ({"payload": 1, "continuationId": "canary-value\n"}, "/continuationId"),
    "an id with a blank at its edge": ({"payload": 1, "continuationId": " canary-value"}, "/continuationId"),
    "an id of 201 characters": ({"payload": 1, "continuationId": "canary-value" + "a" * 189}, "/continuationId"),
    "an empty id": ({"payload": 1, "continuationId": ""}, "/continuationId"),
    "somebody's id with a control character": ({"payload": 1, "correlationId": "canary\x85value"}, "/correlationId"),
    "somebody's id of 201 characters": ({"payload": 1, "correlationId": "c" * 201}, "/correlationId"),
    "an empty id of somebody": ({"payload": 1, "correlationId": ""}, "/correlationId"),
    "a queue that is none": ({"payload": 1, "queue": "canary/value"}, "/queue"),
    "metadata that is no object": ({"payload": 1, "metadata": ["canary-value"]}, "/metadata"),
    "metadata that is null": ({"payload": 1, "metadata": None}, "/metadata"),
    "nobody who may answer": ({"payload": 1, "answerableBy": []}, "/answerableBy"),
    "another who may answer": ({"payload": 1, "answerableBy": ["canary-value"]}, "/answerableBy/0"),
    "a text of who may answer": ({"payload": 1, "answerableBy": "token"}, "/answerableBy"),
    "an expiry in the past": ({"payload": 1, "expiresAt": "2025-12-31T23:59:59.999Z"}, "/expiresAt"),
    "an expiry right now": ({"payload": 1, "expiresAt": "2026-01-01T00:00:00Z"}, "/expiresAt"),
    "an expiry in 91 days": ({"payload": 1, "expiresAt": "2026-04-02T00:00:00Z"}, "/expiresAt"),
    "an expiry in the year 10000": ({"payload": 1, "expiresAt": "10000-01-01T00:00:00Z"}, "/expiresAt"),
    "an expiry in the year 0": ({"payload": 1, "expiresAt": "0000-01-01T00:00:00Z"}, "/expiresAt"),
    "an expiry without a zone": ({"payload": 1, "expiresAt": "2026-01-02T00:00:00"}, "/expiresAt"),
    "an expiry in another zone": ({"payload": 1, "expiresAt": "2026-01-02T00:00:00+00:00"}, "/expiresAt"),
    "an expiry on 30 February": ({"payload": 1, "expiresAt": "2026-02-30T00:00:00Z"}, "/expiresAt"),
    "an expiry in seconds": ({"payload": 1, "expiresAt": 1_800_000_000}, "/expiresAt"),
    "an expiry that is no time": ({"payload": 1, "expiresAt": "NaN"}, "/expiresAt"),
    "another kind": ({"payload": {"kind": "canary-value"}}, "/payload/kind"),
    "a message that is no text": ({"payload": {"message": 5}}, "/payload/message"),
    "an action without a name": ({"payload": {"action": {"arguments": {}}}}, "/payload/action"),
    "an input question with an action": ({"payload": {"kind": "input", "action": {"name": "a"}}}, "/payload/kind"),
}

BY_PATH: list[tuple[str, dict[str, Any], str]] = [
    ("cancel", {"reason": 5}, "/reason"),
    ("cancel", {"reason": "r" * 501}, "/reason"),
    ("cancel", {"expectedVersion": 0}, "/expectedVersion"),
    ("cancel", {"expectedVersion": -1}, "/expectedVersion"),
    ("cancel", {"expectedVersion": "1"}, "/expectedVersion"),
    ("cancel", {"expectedVersion": True}, "/expectedVersion"),
    ("cancel", {"expectedVersion": 1.5}, "/expectedVersion"),
    ("token", {"expectedVersion": "1"}, "/expectedVersion"),
    ("claim", {"worker": "w", "leaseSeconds": "60"}, "/leaseSeconds"),
    ("claim", {"worker": "w", "leaseSeconds": True}, "/leaseSeconds"),
    ("claim", {"worker": "w", "leaseSeconds": 0}, "/leaseSeconds"),
    ("claim", {"worker": "w", "leaseSeconds": 86_401}, "/leaseSeconds"),
    ("claim", {"worker": "", "leaseSeconds": 60}, "/worker"),
    ("claim", {"worker": "w" * 201, "leaseSeconds": 60}, "/worker"),
    ("claim", {"worker": "w", "leaseSeconds": 60, "action": {"name": ""}}, "/action/name"),
    ("claim", {"worker": "w", "leaseSeconds": 60, "action": {"name": "a", "canary-unknown": 1}}, "/action"),
    ("claim", {"worker": "w", "leaseSeconds": 60, "action": {"name": "a", "arguments": []}}, "/action/arguments"),
    ("claim", {"leaseSeconds": 60}, "/worker"),
]


def refused(server: RunningServer, client: Client, body: bytes, headers: dict[str, str]) -> Reply:
    """Send a creation that is refused, and see that nothing is stored and the next is served."""
    before = server.last_seq
    reply = client.call("POST", PATH, body, headers=headers)
    assert server.last_seq == before
    assert client.get("/healthz").status == 200
    return reply


@pytest.mark.parametrize("name", NO_JSON)
def test_what_is_not_json_that_can_be_kept_is_400_with_its_reason(
    server: RunningServer, editor: Client, name: str
) -> None:
    body, reason = NO_JSON[name]
    reply = refused(server, editor, body, JSON)
    assert reply.outcome == (400, "INVALID_JSON")
    assert [issue["reason"] for issue in reply.json["issues"]] == [reason]


@pytest.mark.parametrize("name", NO_SHAPE)
def test_what_has_not_the_shape_is_400_with_the_place_of_it(server: RunningServer, editor: Client, name: str) -> None:
    body, path = NO_SHAPE[name]
    before = server.last_seq
    reply = editor.post(PATH, body)
    assert reply.outcome == (400, "INVALID_REQUEST")
    assert [issue["path"] for issue in reply.json["issues"]] == [path]
    assert server.last_seq == before


@pytest.mark.parametrize(("verb", "body", "path"), BY_PATH)
def test_nothing_is_made_of_another_type(editor: Client, verb: str, body: dict[str, Any], path: str) -> None:
    created = editor.ask()["continuation"]["continuationId"]
    reply = editor.post(f"{PATH}/{created}/{verb}", body)
    assert reply.outcome == (400, "INVALID_REQUEST")
    assert [issue["path"] for issue in reply.json["issues"]] == [path]


@pytest.mark.parametrize(
    "payload",
    [
        None,
        False,
        0,
        -0.0,
        2**53 - 1,
        1.5e300,
        "",
        [],
        {},
        {"__proto__": {"toString": 1}, "constructor": 1},
        "\N{GRINNING FACE}\u202e\x1b[31m<script>alert(1)</script>",
        {"a" * JSON_KEY_CHARACTERS: 1},
        [0] * 20_000,
    ],
)
def test_a_payload_that_can_be_kept_is_given_back_as_it_is(editor: Client, payload: Any) -> None:
    created = editor.ask(payload)
    found = editor.get(f"{PATH}/{created['continuation']['continuationId']}")
    assert found.json["continuation"]["payload"] == created["continuation"]["payload"] == payload


def test_depth_counts_the_containers_of_the_payload_alone(editor: Client) -> None:
    payload: Any = 0
    for _ in range(JSON_DEPTH):
        payload = [payload]
    assert editor.ask(payload)["continuation"]["payload"] == payload


def test_the_limit_of_a_body_is_inclusive(server: RunningServer, editor: Client) -> None:
    around = len(b'{"payload":""}')
    fits = b'{"payload":"%b"}' % (b"a" * (PAYLOAD_BYTES - around))
    assert editor.call("POST", PATH, fits, headers=JSON).status == 201
    assert refused(server, editor, fits + b" ", JSON).outcome == (413, "PAYLOAD_TOO_LARGE")


def test_the_limit_holds_on_the_canonical_bytes_too(server: RunningServer, editor: Client) -> None:
    body = b'{"payload":[%b]}' % b",".join([b"1e-6"] * 12_000)  # each of them becomes 0.000001
    assert len(body) < PAYLOAD_BYTES
    assert refused(server, editor, body, JSON).outcome == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=a"},
        {"Content-Type": "application/json-patch+json"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json; charset=latin-1"},
        {**JSON, "Content-Encoding": "gzip"},
        {**JSON, "Content-Encoding": "br, identity"},
    ],
)
def test_another_media_type_charset_or_coding_is_415(
    server: RunningServer, editor: Client, headers: dict[str, str]
) -> None:
    assert refused(server, editor, b'{"payload": 1}', headers).outcome == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "Application/JSON"},
        {"Content-Type": 'application/json; charset="UTF-8"'},
        {"Content-Type": "application/json;charset=utf-8; version=1"},
        {**JSON, "Content-Encoding": "identity"},
    ],
)
def test_json_in_utf_8_may_be_named_in_every_way(editor: Client, headers: dict[str, str]) -> None:
    assert editor.call("POST", PATH, b'{"payload": 1}', headers=headers).status == 201


def test_a_body_whose_members_may_all_be_left_out_may_be_left_out(editor: Client) -> None:
    created = editor.ask()["continuation"]["continuationId"]
    assert editor.call("POST", f"{PATH}/{created}/cancel", headers={}).status == 200


def test_an_empty_body_that_says_it_is_json_is_not(editor: Client) -> None:
    created = editor.ask()["continuation"]["continuationId"]
    assert editor.call("POST", f"{PATH}/{created}/cancel", b"", headers=JSON).outcome == (400, "INVALID_JSON")


def test_a_host_that_allows_more_gets_more(parser: Parser) -> None:
    more = JsonLimits(max_bytes=1_048_576)
    policy = pausemesh.Policy(json_limits=more)
    with RunningServer(parser=parser, policy=policy, json_limits=more) as server, server.client("editor") as editor:
        payload = {"text": "a" * 900_000}
        assert editor.ask(payload)["continuation"]["payload"] == payload
        assert refused(server, editor, b" " * 1_048_577, JSON).outcome == (413, "PAYLOAD_TOO_LARGE")
        reply = refused(server, editor, b'{"payload":[%b]}' % b",".join([b"0"] * JSON_VALUES), JSON)
        assert reply.json["issues"][0]["reason"] == "too_many_values"
        assert reply.outcome == (400, "INVALID_JSON")


def test_a_body_that_may_not_be_left_out_needs_its_media_type(editor: Client) -> None:
    assert editor.call("POST", PATH, headers={}).outcome == (415, "UNSUPPORTED_MEDIA_TYPE")
