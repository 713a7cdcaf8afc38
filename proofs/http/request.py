"""Requests as bytes that can be sent again and again, each with a mark that is stored with what it does."""

import dataclasses
import hashlib
import json
from typing import Any, Final

import pausemesh
from pausemesh import Role
from pausemesh.ports import EventStore
from proofs.children import Line
from proofs.http.wire import Reply

STRICT: Final = frozenset({"create", "resume", "answer", "cancel", "start", "outcome", "done"})
"""A repeat of these finds what an earlier one did, so that a refusal says that none of them did anything."""

REPEATED: Final = STRICT - {"start", "outcome"}
"""What is sent again long after it was answered; an effect may have been started anew meanwhile."""

_MEMBER: Final = b'{"continuation":'
_AFTER: Final = (b',"replayed":', b',"resumeToken":')


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The API keys of those who call."""

    agent: str
    editor: str
    admin: str


async def make_keys(store: EventStore) -> Keys:
    """Make the keys of those who will call."""
    async with pausemesh.open(store) as mesh:
        agent, editor, admin = [
            (await mesh.create_key(role=role)).text for role in (Role.AGENT, Role.EDITOR, Role.ADMIN)
        ]
    return Keys(agent=agent, editor=editor, admin=admin)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request.

    Attributes:
        number: its own.
        do: what it asks for.
        mark: what is stored with what it does, and with nothing else.
        about: what it names.
        data: all that is sent.
    """

    number: int
    do: str
    mark: str
    about: Line
    data: bytes


def data_of(
    method: str,
    path: str,
    body: Any = None,
    *,
    credential: str,
    idempotency_key: str | None = None,
    token: str | None = None,
) -> bytes:
    """Return the bytes of a request; beside a resume token the API key stands in a header of its own."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1"]
    if token is None:
        lines.append(f"authorization: Bearer {credential}")
    else:
        lines += [f"authorization: PauseMesh {token}", f"x-api-key: {credential}"]
    if idempotency_key is not None:
        lines.append(f"idempotency-key: {idempotency_key}")
    content = b"" if body is None else json.dumps(body).encode()
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content


def line_of(reply: Reply) -> Line:
    """Return what is told of an answer: status, body, and a digest of the very bytes of its continuation."""
    body = json.loads(reply.body) if reply.body else {}
    return {"status": reply.status, "body": body, "digest": _digest(reply.body)}


def _digest(body: bytes) -> str | None:
    if not body.startswith(_MEMBER):
        return None
    ends = [end for member in _AFTER if (end := body.rfind(member)) > 0]
    return hashlib.sha256(body[len(_MEMBER) : max(ends, default=len(body) - 1)]).hexdigest()
