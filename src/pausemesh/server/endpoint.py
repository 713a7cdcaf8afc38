"""All operations of one path, and the one order in which a request to any of them is checked."""

import functools
from asyncio import to_thread
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from pausemesh.core.errors import IdempotencyKeyRequired
from pausemesh.core.principal import Principal
from pausemesh.server.body import parse_body, read_body, require_declared_size, require_json
from pausemesh.server.errors import MethodNotAllowed, RateLimited, Unauthenticated
from pausemesh.server.exchange import Record
from pausemesh.server.headers import has_body, idempotency_key_in
from pausemesh.server.operation import Access, Call, KeyUse, Operation
from pausemesh.server.query import read_query
from pausemesh.server.serving import Serving
from pausemesh.service.requests import idempotency_key_of

_MINUTE_SECONDS: Final = 60.0
_SMALL_BYTES: Final = 65_536


class Endpoint:
    """The operations of a path, by method; HEAD is GET without its body."""

    def __init__(self, operations: Iterable[Operation], serving: Serving) -> None:
        self._operations = {operation.method: operation for operation in operations}
        self._serving = serving
        self._bodiless = {operation.name for operation in self._operations.values() if _may_be_empty(operation)}
        got = self._operations.get("GET")
        if got is not None and not got.is_endless:
            self._operations["HEAD"] = got

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            PauseMeshError: it is refused; who called this makes a problem document of it.
        """
        operation = self._operations.get(scope["method"])
        if operation is None:
            raise MethodNotAllowed(allowed=sorted(self._operations))
        record: Record = scope["pausemesh"]
        record.route = operation.path
        call = await self._receive(operation, scope, receive)
        answer = await operation.handle(call)
        await answer.send(send)

    async def _receive(self, operation: Operation, scope: Scope, receive: Receive) -> Call:
        headers = scope["pausemesh.headers"]
        principal = await self._identify(operation, scope)
        if operation.is_limited:
            await self._require_room(operation, principal)
        body = None
        key = None
        most = self._serving.json_limits.max_bytes
        require_declared_size(headers, most)
        if operation.takes is None and has_body(headers):
            await self._read(receive, most)  # it means nothing, and would stand before the next request
        if operation.takes is not None:
            require_json(headers, may_be_empty=operation.name in self._bodiless)
            raw = await self._read(receive, most)
            arguments = (raw, headers, operation.takes, self._serving.body_limits)
            body = parse_body(*arguments) if len(raw) <= _SMALL_BYTES else await to_thread(parse_body, *arguments)
        query = read_query(scope["query_string"], operation.parameters)
        if operation.key is not KeyUse.NONE:
            key = _key_of(operation, headers)
        return Call(
            serving=self._serving,
            mesh=self._serving.of(None if principal is None else principal.scope).mesh,
            principal=principal,
            path=scope["path_params"],
            query=query,
            body=body,
            idempotency_key=key,
            headers=headers,
            receive=receive,
            root=scope.get("root_path", ""),
            confirm=functools.partial(self._confirm, operation, scope, principal),
        )

    async def _read(self, receive: Receive, most: int) -> bytes:
        """Read a body; however many come slowly, they take nobody else's place."""
        with self._serving.set_aside():
            return await read_body(receive, most)

    async def _identify(self, operation: Operation, scope: Scope) -> Principal | None:
        if operation.access is Access.PUBLIC:
            return None
        may_be_nobody = operation.access is Access.OPEN
        headers = scope["pausemesh.headers"]
        principal = await self._serving.callers.identify(scope, headers, may_be_nobody=may_be_nobody)
        if principal is not None:
            record: Record = scope["pausemesh"]
            record.caller = {"principal": principal.id, "role": principal.role.value, "scope": principal.scope}
        return principal

    async def _confirm(self, operation: Operation, scope: Scope, principal: Principal | None) -> None:
        """Pass a caller that is still who it was when it called.

        Raises:
            Unauthenticated: its key was revoked, or it was nobody and that is not enough any more.
        """
        if await self._identify(operation, scope) != principal:
            raise Unauthenticated

    async def _require_room(self, operation: Operation, principal: Principal | None) -> None:
        who = "nobody" if principal is None else f"{principal.scope}/{principal.id}"
        bucket = f"{operation.name}/{who}"
        seconds = await self._serving.limiter.take(bucket, self._serving.mutations_per_minute, _MINUTE_SECONDS)
        if seconds is not None:
            raise RateLimited(seconds=seconds)


def _key_of(operation: Operation, headers: Mapping[bytes, bytes]) -> str | None:
    key = idempotency_key_in(headers)
    if key is None and operation.key is KeyUse.REQUIRED:
        raise IdempotencyKeyRequired
    return None if key is None else idempotency_key_of(key)


def _may_be_empty(operation: Operation) -> bool:
    """Tell whether every member of the body may be left out."""
    return operation.takes is not None and not any(field.required for field in msgspec.structs.fields(operation.takes))
