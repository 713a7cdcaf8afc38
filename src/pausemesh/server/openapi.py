"""The OpenAPI 3.1 document, made from the definitions that check the requests."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from pausemesh import __version__
from pausemesh.server import bodies
from pausemesh.server.operation import Access, KeyUse, Link, Operation
from pausemesh.server.problems import STATUS, TITLES

_REFERENCE: Final = "#/components/schemas/{name}"
_PATH_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_ABOUT_PATH: Final = {"id": "The question's id; a claim has the same.", "key": "The effect's own key."}

_ALWAYS: Final = (
    "INVALID_REQUEST",
    "CREDENTIAL_IN_URL",
    "REQUEST_TIMEOUT",
    "PAYLOAD_TOO_LARGE",
    "URI_TOO_LONG",
    "HEADERS_TOO_LARGE",
    "INTERNAL_ERROR",
)
_OF_CALLERS: Final = ("UNAUTHENTICATED", "MISDIRECTED", "OVERLOADED", "STORE_UNAVAILABLE")
_OF_BODIES: Final = (
    "INVALID_JSON",
    "UNSUPPORTED_MEDIA_TYPE",
    "OUTCOME_UNKNOWN",
    "STORE_FULL",
)
_TAGS: Final = {
    "Continuations": "Durable questions: asked, read, answered once, taken back.",
    "Claims": "The right to go on with a decision, for one worker at a time.",
    "Effects": "What is done to the outside world: once, or known to be in doubt.",
    "Live": "What happens, as it happens.",
    "Health": "Whether the server lives and can serve.",
}
_ABOUT: Final = (
    "An agent stops and asks; the question survives, exactly one authorised answer gets through, exactly one worker "
    "goes on with it, and an honest retry is told what happened. Every error is a problem document (RFC 9457) with a "
    "stable `code`."
)


def openapi_document(operations: Iterable[Operation], *, public_url: str | None = None) -> dict[str, Any]:
    """Return the document; ``public_url`` is where clients reach this server."""
    found = list(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in found:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "PauseMesh", "version": __version__, "description": _ABOUT},
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {"schemas": _schemas(found), "securitySchemes": _SECURITY},
    }
    if public_url is not None:
        document["servers"] = [{"url": public_url.rstrip("/")}]
    return document


def codes_of(operation: Operation) -> list[str]:
    """Return every code that an operation can answer with, by status."""
    codes = {*_ALWAYS, *operation.problems}
    if operation.access is not Access.PUBLIC:
        codes.update(_OF_CALLERS)
    if operation.takes is not None:
        codes.update(_OF_BODIES)
    if operation.key is KeyUse.REQUIRED:
        codes.add("IDEMPOTENCY_KEY_REQUIRED")
    if operation.key is not KeyUse.NONE:
        codes.add("IDEMPOTENCY_KEY_INVALID")
    return sorted(codes, key=lambda code: (STATUS[code], code))


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": {**_successes(operation), **_problems(operation)},
        "security": _security(operation),
    }
    if operation.about:
        described["description"] = operation.about
    if operation.takes is not None:
        is_optional = not any(field.required for field in msgspec.structs.fields(operation.takes))
        described["requestBody"] = {
            "required": not is_optional,
            "content": {"application/json": {"schema": _reference(operation.takes)}},
        }
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _ABOUT_PATH[name],
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        }
        for name in _PATH_PARAMETER.findall(operation.path)
    ]
    parameters += [
        {"name": one.name, "in": "query", "description": one.about, "schema": dict(one.schema)}
        for one in operation.parameters
    ]
    if operation.key is not KeyUse.NONE:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": operation.key is KeyUse.REQUIRED,
                "description": "Names this very request, so that a repeat of it is safe: 1 to 200 characters.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$"},
            }
        )
    return parameters


def _successes(operation: Operation) -> dict[str, Any]:
    successes = {}
    for status, shape in operation.gives.items():
        answer: dict[str, Any] = {"description": _description(shape)}
        if shape is not None:
            answer["content"] = {operation.media_type: {"schema": _reference(shape)}}
        elif operation.media_type != "application/json":
            answer["content"] = {operation.media_type: {"schema": {"type": "string"}}}
        if operation.links and shape is not None:
            answer["links"] = {name: _link(name, link) for name, link in operation.links.items()}
        successes[str(status)] = answer
    return successes


def _link(name: str, link: Link) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": name, "parameters": dict(link.parameters)}
    return described if link.body is None else {**described, "requestBody": dict(link.body)}


def _description(shape: type[Any] | None) -> str:
    return "Done." if shape is None else (shape.__doc__ or "").partition("\n")[0]


def _problems(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(operation):
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        str(status): {
            "description": "\n\n".join(f"`{code}`: {TITLES[code]}" for code in codes),
            "content": {"application/problem+json": {"schema": _reference(bodies.Problem)}},
        }
        for status, codes in by_status.items()
        if status not in operation.gives
    }


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    if operation.access is Access.PUBLIC:
        return []
    if operation.takes_token:
        return [{"resumeToken": []}, {"resumeToken": [], "apiKeyHeader": []}]
    keyed: list[dict[str, list[str]]] = [{"apiKey": []}, {"apiKeyHeader": []}]
    return [*keyed, {}] if operation.access is Access.OPEN else keyed


_SECURITY: Final = {
    "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, `pmk_…`."},
    "apiKeyHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same beside a resume token.",
    },
    "resumeToken": {"type": "http", "scheme": "PauseMesh", "description": "A resume token, `pmr_…`."},
}


def _schemas(operations: Iterable[Operation]) -> dict[str, Any]:
    shapes: dict[str, type[Any]] = {bodies.Problem.__name__: bodies.Problem}
    for operation in operations:
        for shape in (operation.takes, *operation.gives.values()):
            if shape is not None:
                shapes[shape.__name__] = shape
    _, components = msgspec.json.schema_components(shapes.values(), ref_template=_REFERENCE)
    return dict(sorted(components.items()))


def _reference(shape: type[Any]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=shape.__name__)}
