"""The questions of a server, over HTTP, as the principal of an API key."""

import contextlib
import re
from collections.abc import Mapping
from ipaddress import ip_address
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import httpx2

from pausemesh import ContinuationNotFound, IdempotencyKeyInvalid, InvalidRequest, PauseMeshError
from pausemesh.cli.http_refusal import lost, no_pausemesh, refusal_of, unreachable
from pausemesh.cli.questions import Filters, JsonObject, object_in, objects_in, text_in
from pausemesh.core.json_reader import read_json
from pausemesh.core.limits import JSON_DEPTH_MAX, JsonLimits
from pausemesh.core.values import JsonValue, check_own_id

_TIMEOUT: Final = httpx2.Timeout(connect=5.0, read=30.0, write=30.0, pool=5.0)
_REPLY_LIMITS: Final = JsonLimits(
    max_bytes=64 * 1024 * 1024, max_depth=JSON_DEPTH_MAX, max_values=10_000_000, max_key_characters=65_536
)
_SUCCESS: Final = 200
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]+")
_NO_ADDRESS: Final = "PAUSEMESH_URL must be http://host or https://host, perhaps with a port and a path."
_NEVER_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)


class HttpQuestions:
    """``Questions`` of a server; opened and closed by a ``with`` block.

    Raises:
        InvalidRequest: the address is none of a server, or the key cannot be sent.
    """

    def __init__(self, url: str, key: str, *, transport: httpx2.BaseTransport | None = None) -> None:
        if not _VISIBLE.fullmatch(key):
            raise InvalidRequest("PAUSEMESH_API_KEY is not the text of a key.")
        self.place = _base_of(url)
        headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
        # A proxy of the environment would get the key; what is on this machine needs none.
        trust_env = not _is_this_machine(httpx2.URL(self.place).host)
        self._client = httpx2.Client(headers=headers, timeout=_TIMEOUT, transport=transport, trust_env=trust_env)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        self._client.close()

    def page(self, filters: Filters, *, limit: int, cursor: str | None) -> JsonObject:
        """Return a page."""
        asked = {
            "status": filters.status,
            "correlationId": filters.correlation_id,
            "kind": filters.kind,
            "limit": str(limit),
            "cursor": cursor,
        }
        query = {name: value for name, value in asked.items() if value is not None}
        page = self._call("GET", "/v1/continuations", query=query)
        _require(isinstance(page.get("continuations"), list))
        return page

    def get(self, continuation_id: str) -> JsonObject:
        """Return a continuation."""
        found = self._call("GET", _path(continuation_id))
        _require(_has_continuation(found))
        return object_in(found, "continuation")

    def history(self, continuation_id: str) -> list[JsonObject]:
        """Return its events."""
        return self._list(continuation_id, "events")

    def effects(self, continuation_id: str) -> list[JsonObject]:
        """Return its effects."""
        return self._list(continuation_id, "effects")

    def answer(
        self, continuation_id: str, *, idempotency_key: str, payload: JsonValue, shown_digest: str
    ) -> JsonObject:
        """Answer."""
        body: JsonObject = {"payload": payload, "shownDigest": shown_digest}
        headers = {"Idempotency-Key": _structured(idempotency_key)}
        return self._change(continuation_id, "answer", body, headers)

    def cancel(self, continuation_id: str, *, reason: str | None) -> JsonObject:
        """Take back."""
        body: JsonObject = {} if reason is None else {"reason": reason}
        return self._change(continuation_id, "cancel", body)

    def _change(
        self, continuation_id: str, name: str, body: JsonObject, headers: Mapping[str, str] | None = None
    ) -> JsonObject:
        outcome = self._call("POST", _path(continuation_id, name), body=body, headers=headers)
        if not _has_continuation(outcome):
            raise lost(changes=True)  # perhaps something in between spoke, after it was done
        return outcome

    def _list(self, continuation_id: str, name: str) -> list[JsonObject]:
        found = self._call("GET", _path(continuation_id, name)).get(name)
        _require(isinstance(found, list))
        return objects_in(found)

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Return the JSON of a success; a refusal to change something says whether it may have been done."""
        changes = body is not None
        try:
            request = self._client.build_request(method, self.place + path, params=query, json=body, headers=headers)
            response = self._client.send(request, stream=True)
            with contextlib.closing(response):
                content = _read(response)
        except _NEVER_SENT:
            raise unreachable() from None
        except httpx2.RequestError:
            raise lost(changes=changes) from None
        if response.status_code == _SUCCESS and isinstance(content, dict):
            return content
        raise refusal_of(response.status_code, content, response.headers.get("retry-after"), changes=changes)


def _has_continuation(content: JsonObject) -> bool:
    return bool(text_in(object_in(content, "continuation"), "continuationId"))


def _require(is_of_pausemesh: bool) -> None:  # noqa: FBT001 - a condition
    if not is_of_pausemesh:
        raise no_pausemesh()


def _is_this_machine(host: str) -> bool:
    """Tell whether a host is this machine by its name or address; nothing is resolved."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _read(response: httpx2.Response) -> JsonValue:
    """Return the JSON of an answer; None where it is none within the limits."""
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _REPLY_LIMITS.max_bytes:
            return None
    try:
        return read_json(bytes(data), _REPLY_LIMITS)
    except PauseMeshError:
        return None


def _base_of(address: str) -> str:
    """Return the address without a slash at its end; what is wrong with it is said without repeating it."""
    try:
        url = httpx2.URL(address.strip())
    except (httpx2.InvalidURL, ValueError):
        raise InvalidRequest(_NO_ADDRESS) from None
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise InvalidRequest(_NO_ADDRESS)
    return str(url).rstrip("/")


def _path(continuation_id: str, *more: str) -> str:
    try:
        noun_id = check_own_id(continuation_id, "/continuationId")
    except InvalidRequest:
        raise ContinuationNotFound from None
    return "/".join(["/v1/continuations", quote(noun_id, safe=""), *more])


def _structured(key: str) -> str:
    """Write an idempotency key as a string of RFC 9651, which keeps its blanks and quotation marks."""
    if not _PRINTABLE.fullmatch(key):
        raise IdempotencyKeyInvalid("Over HTTP it is of printable ASCII characters.")
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
