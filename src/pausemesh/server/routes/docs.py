"""The interface described, for programs and for people."""

import functools
from collections.abc import Callable
from typing import Final

import msgspec

from pausemesh.core.principal import require_may_read_some
from pausemesh.server.answer import JSON, Answer
from pausemesh.server.docs_page import CONTENT_SECURITY_POLICY, docs_page
from pausemesh.server.openapi import openapi_document
from pausemesh.server.operation import Call, Operation

_HTML: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
)


def docs_operations(described: Callable[[], tuple[Operation, ...]]) -> tuple[Operation, ...]:
    """Return the operations that describe all operations, themselves included."""

    @functools.cache
    def document(public_url: str | None) -> bytes:
        return msgspec.json.encode(openapi_document(described(), public_url=public_url))

    @functools.cache
    def page(root: str, public_url: str | None) -> bytes:
        return docs_page(described(), root=root, public_url=public_url).encode()

    async def show_document(call: Call) -> Answer:
        call.require(require_may_read_some)
        return Answer(status=200, body=document(call.serving.public_url), headers=(JSON,))

    async def show_page(call: Call) -> Answer:
        call.require(require_may_read_some)
        return Answer(status=200, body=page(call.root, call.serving.public_url), headers=_HTML)

    return (
        Operation(
            method="GET",
            path="/openapi.json",
            name="openapi",
            summary="Describe the interface as OpenAPI 3.1",
            tag="Health",
            handle=show_document,
            gives={200: None},
            problems=("FORBIDDEN",),
        ),
        Operation(
            method="GET",
            path="/docs",
            name="docs",
            summary="Describe the interface as a page",
            tag="Health",
            handle=show_page,
            gives={200: None},
            problems=("FORBIDDEN",),
            media_type="text/html",
        ),
    )
