"""The page about the HTTP interface, made from its operations."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pausemesh.server.app import OPERATIONS
from pausemesh.server.docs_page import ACCESS, schema_members
from pausemesh.server.openapi import codes_of, openapi_document
from pausemesh.server.operation import Operation
from pausemesh.server.problems import STATUS, TITLES

_HEAD: Final = """# HTTP

Made from the definitions that check the requests; a running server shows the same as `/docs`, and as
`/openapi.json`. Times are UTC, ISO 8601 with milliseconds and `Z`. A body is JSON in UTF-8 with the media type
`application/json`; where every member is optional, an empty body without a media type counts as `{}`.

An API key goes into `Authorization: Bearer pmk_…`; beside a resume token, which has `Authorization: PauseMesh
pmr_…` for itself, into `X-API-Key`. Each key has a role and a scope:

| role | may |
|---|---|
| agent | ask; read, follow and take back what it asked itself; claim, and run effects. It never decides an approval |
| messenger | nothing of what is here yet |
| viewer | read everything of the scope, and answer a question whose resume token it holds |
| editor | what a viewer may; ask, claim, answer and cancel |
| admin | what an editor may; settle effects that are in doubt |

What another scope holds does not exist: it is answered like an unknown id, byte for byte.

While no key was ever made, and the server listens on loopback, requests under `/v1` need none: from this machine, for
`localhost`, `127.0.0.1` or `[::1]`, not passed on by a proxy, and not from a page of another site. Listing, following,
answering as an operator, getting another token, settling effects and `/metrics` need one even then.

An id, also one of yours, is no secret: it stands in logs, addresses and histories. One that looks like a key or a token
(`pmk_…`, `pmr_…`) is refused, with the reason `credential`.

A request is checked in this order, and the first check that fails answers: transport, route and method, caller, rate,
declared size, media type, body, JSON, headers and shape, the object, the role, the resume token, an earlier call under
the same key, fences and versions, time, state, the digest of what was shown, the answer. A refused request changes
nothing.
"""


def http_page() -> str:
    """Return the page."""
    document = openapi_document(OPERATIONS)
    parts = [_HEAD]
    for tag in document["tags"]:
        parts.append(f"## {tag['name']}\n\n{tag['description']}\n")
        parts += [_operation(one, document) for one in OPERATIONS if one.tag == tag["name"]]
    parts.append(_problems())
    parts.append("## Shapes\n")
    parts += [_shape(name, schema) for name, schema in document["components"]["schemas"].items()]
    return "\n".join(parts)


def _operation(operation: Operation, document: Mapping[str, Any]) -> str:
    described = document["paths"][operation.path][operation.method.lower()]
    lines = [f"### {operation.summary}\n", f"`{operation.method} {operation.path}`, {ACCESS[operation.access]}.\n"]
    if operation.about:
        lines.append(f"{operation.about}\n")
    if described["parameters"]:
        lines.append("| parameter | in | what for |\n|---|---|---|")
        lines += [_parameter(one) for one in described["parameters"]]
        lines.append("")
    if operation.takes is not None:
        lines.append(f"Takes {_link(operation.takes)}.")
    gives = ", ".join(f"{status} {_link(shape)}".strip() for status, shape in operation.gives.items())
    lines.append(f"Gives {gives}. Refuses with {_codes(operation)}.\n")
    return "\n".join(lines)


def _parameter(parameter: Mapping[str, Any]) -> str:
    mark = ", required" if parameter.get("required") else ""
    return f"| `{parameter['name']}`{mark} | {parameter['in']} | {parameter['description']} |"


def _link(shape: type[Any] | None) -> str:
    return "" if shape is None else f"[{shape.__name__}](#{shape.__name__.lower()})"


def _codes(operation: Operation) -> str:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(operation):
        by_status.setdefault(STATUS[code], []).append(code)
    return "; ".join(f"{status} {', '.join(codes)}" for status, codes in by_status.items())


_PROBLEMS: Final = """## Problems

Every error is a problem document (RFC 9457), `application/problem+json`, with a stable `code`. Where they exist it has
`issues` (JSON Pointers with a reason), `expected` and `actual` versions, `recorded` (the decision that was first, never
its payload), `expiresAt` and `leaseUntil`. After 429 and 503 `Retry-After` says how long to wait.

| status | code | says |
|---|---|---|
"""


def _problems() -> str:
    rows = (f"| {status} | `{code}` | {TITLES[code]} |" for code, status in STATUS.items())
    return _PROBLEMS + "\n".join(rows) + "\n"


def _shape(name: str, schema: Mapping[str, Any]) -> str:
    about = schema.get("description", "").replace("``", "`")
    return "\n".join([f"### {name}\n", f"{about}\n", *_members(schema)])


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| member | type | what for |\n|---|---|---|"
    for member in schema_members(schema):
        kind = member["type"].replace("|", "\\|")
        mark = ", required" if member["is_required"] else ""
        yield f"| `{member['name']}`{mark} | {kind} | {member['about']} |"
    yield ""
