"""The page that shows the OpenAPI document to a person: plain HTML, nothing fetched from anywhere else."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from pausemesh.server.openapi import codes_of, openapi_document
from pausemesh.server.operation import Access, KeyUse, Operation
from pausemesh.server.problems import STATUS, TITLES

_PAGES: Final = files("pausemesh.server") / "pages"
_STYLE: Final = (_PAGES / "docs.css").read_text(encoding="utf-8")
_ENVIRONMENT: Final = Environment(
    loader=DictLoader({"docs.html": (_PAGES / "docs.html").read_text(encoding="utf-8")}),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_CODE: Final = re.compile(r"`([^`]*)`")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _with_code(text: str) -> Markup:
    """Return text as HTML, what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it was escaped


_ENVIRONMENT.filters["with_code"] = _with_code


def docs_page(operations: Iterable[Operation], *, root: str, public_url: str | None) -> str:
    """Return the page; ``root`` is the path under which this app is mounted, empty where it is not."""
    found = list(operations)
    document = openapi_document(found, public_url=public_url)
    base = (public_url or f"http://127.0.0.1:8787{root}").rstrip("/")
    groups = [
        {
            "name": tag["name"],
            "about": tag["description"],
            "operations": [_shown(one, document, base) for one in found if one.tag == tag["name"]],
        }
        for tag in document["tags"]
    ]
    return _ENVIRONMENT.get_template("docs.html").render(
        document=document,
        groups=groups,
        problems=[{"code": code, "status": status, "title": TITLES[code]} for code, status in STATUS.items()],
        schemas=[_schema(name, schema) for name, schema in document["components"]["schemas"].items()],
        style=_STYLE,
        root=root,
    )


def _shown(operation: Operation, document: Mapping[str, Any], base: str) -> dict[str, Any]:
    described = document["paths"][operation.path][operation.method.lower()]
    return {
        "name": operation.name,
        "method": operation.method,
        "path": operation.path,
        "summary": operation.summary,
        "about": operation.about,
        "access": ACCESS[operation.access],
        "parameters": described["parameters"],
        "takes": None if operation.takes is None else operation.takes.__name__,
        "gives": [
            {"status": status, "shape": None if shape is None else shape.__name__}
            for status, shape in operation.gives.items()
        ],
        "codes": [{"code": code, "status": STATUS[code]} for code in codes_of(operation)],
        "example": _example(operation, base),
    }


ACCESS: Final = {
    Access.PUBLIC: "for everybody",
    Access.OPEN: "for holders of an API key; for everybody on this machine while no key exists",
    Access.KEYED: "for holders of an API key",
}


def _example(operation: Operation, base: str) -> str:
    """Return a command that calls the operation."""
    path = operation.path.replace("{id}", "$ID").replace("{key}", "book")
    words = [f'curl "{base}{path}"']
    if operation.method != "GET":
        words[0] = f'curl -X {operation.method} "{base}{path}"'
    if operation.takes_token:
        words.append('-H "Authorization: PauseMesh $TOKEN"')
    elif operation.access is not Access.PUBLIC:
        words.append('-H "Authorization: Bearer $PAUSEMESH_API_KEY"')
    if operation.key is KeyUse.REQUIRED:
        words.append("-H 'Idempotency-Key: my-call-1'")
    if operation.takes is not None:
        words.append("-H 'Content-Type: application/json'")
        words.append(f"-d '{json.dumps(_EXAMPLES[operation.name])}'")
    return " \\\n  ".join(words)


_EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "createContinuation": {"payload": {"message": "Which flight?"}, "queue": "bookings"},
    "resumeContinuation": {"payload": {"flight": "AZ1"}},
    "answerContinuation": {"payload": {"flight": "AZ1"}, "shownDigest": "…"},
    "cancelContinuation": {"reason": "not needed any more"},
    "reissueToken": {},
    "takeClaim": {"worker": "worker-1", "leaseSeconds": 60},
    "takeNextClaim": {"queue": "bookings", "worker": "worker-1", "leaseSeconds": 60, "wait": 20},
    "renewClaim": {"fence": 1, "leaseSeconds": 60},
    "finishClaim": {"fence": 1, "result": {"ticket": "AZ1-0042"}},
    "releaseClaim": {"fence": 1},
    "failClaim": {"fence": 1, "reason": "the airline is down"},
    "startEffect": {"fence": 1, "key": "book", "arguments": {"flight": "AZ1"}},
    "recordOutcome": {"fence": 1, "status": "completed", "result": {"ticket": "AZ1-0042"}},
    "resolveEffect": {"outcome": "done", "evidence": "the ticket is in the airline's system"},
}


def _schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    about = schema.get("description", "").partition("\n")[0]
    return {"name": name, "about": about, "members": list(schema_members(schema))}


def schema_members(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a person wants to know of each member of an object."""
    required = set(schema.get("required", ()))
    for member, described in schema.get("properties", {}).items():
        yield {
            "name": member,
            "type": _type_of(described),
            "about": described.get("description", ""),
            "is_required": member in required,
        }


def _type_of(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_of(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"array of {_type_of(schema.get('items', {}))}"
    return str(schema.get("type", "any JSON")) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    for least, most, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
        if most in schema:
            return f", {schema.get(least, 0)} to {schema[most]}{unit}"
        if least in schema:
            return f", at least {schema[least]}{unit}"
    return ""
