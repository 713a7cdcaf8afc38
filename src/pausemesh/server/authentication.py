"""Who is calling: an API key, what the host says, or nobody, where that is allowed."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pausemesh.core.principal import Principal
from pausemesh.core.tokens import KEY_PREFIX
from pausemesh.server import limits
from pausemesh.server.errors import Misdirected, Unauthenticated
from pausemesh.server.headers import credential_of, is_forwarded
from pausemesh.service.mesh import Mesh

_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Authenticator(Protocol):
    """The host's own way to tell who calls."""

    async def authenticate(self, scope: Mapping[str, Any]) -> Principal | None:
        """Return who calls, None where the request says nothing about it.

        Args:
            scope: of the ASGI connection: its headers, and what the host's own middleware put there.

        Raises:
            Unauthenticated: what it says is wrong.
        """
        ...


class ApiKeyAuthenticator:
    """Knows the API keys of the mesh; a look-up is believed for a second."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._known: OrderedDict[bytes, tuple[Principal, float]] = OrderedDict()

    async def authenticate(self, scope: Mapping[str, Any]) -> Principal | None:
        """Return whose key it is, from ``Authorization: Bearer`` or ``X-API-Key``."""
        key = _key_in(dict(scope["headers"]))
        if key is None:
            return None
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        known, until = self._known.get(digest, (None, 0.0))
        if known is not None and time.monotonic() < until:
            return known
        principal = await self._mesh.authenticate(key)
        if principal is None:
            self._known.pop(digest, None)
            raise Unauthenticated
        self._known[digest] = (principal, time.monotonic() + limits.KEY_MEMORY_SECONDS)
        self._known.move_to_end(digest)
        while len(self._known) > limits.KEYS_REMEMBERED:
            self._known.popitem(last=False)
        return principal


class Callers:
    """Decides who a request is from, and whether it may be from nobody.

    ``is_loopback``: the server is bound to this machine alone, so that it is open until the first key exists.
    """

    def __init__(self, mesh: Mesh, authenticator: Authenticator, *, is_loopback: bool) -> None:
        self._mesh = mesh
        self._authenticator = authenticator
        self._may_be_open = is_loopback

    async def identify(
        self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes], *, may_be_nobody: bool
    ) -> Principal | None:
        """Return who calls, None for nobody.

        Raises:
            Unauthenticated: a principal is needed and there is none, or a credential is wrong.
        """
        is_open = await self._is_open(headers)
        principal = await self._authenticator.authenticate(scope)
        if principal is not None and _is_by_another_site(scope, headers):
            raise Unauthenticated
        if principal is None and not (is_open and may_be_nobody and _is_same_site(headers)):
            raise Unauthenticated
        return principal

    async def require_own_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Pass a request that does not come by a name that leads here by somebody else's will.

        Raises:
            Misdirected: the server is open, and the request names another host.
        """
        if _host_of(headers) not in _LOOPBACK_HOSTS and await self._is_open(headers):
            raise Misdirected

    async def _is_open(self, headers: Mapping[bytes, bytes]) -> bool:
        if not self._may_be_open or is_forwarded(headers):
            return False
        if await self._mesh.has_keys():
            self._may_be_open = False
        return self._may_be_open


def _key_in(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the API key that a request shows; a resume token leaves room for it in a header of its own."""
    own = headers.get(b"x-api-key")
    key = None if own is None else own.decode("latin-1").strip()
    if b"authorization" not in headers or credential_of(headers, "PauseMesh") is not None:
        return key
    bearer = credential_of(headers, "Bearer")
    if bearer is None or key is None:
        return key or bearer or ""
    # Of two keys that differ one is wrong, and a wrong one never passes.
    return "" if bearer.startswith(KEY_PREFIX) and bearer != key else key


def _host_of(headers: Mapping[bytes, bytes]) -> str:
    host = headers.get(b"host", b"").decode("latin-1").strip().lower()
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdigit() or not port) else host


def _is_by_another_site(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a page of another site sent a change, and shows for it only what a browser adds by itself."""
    if scope["method"] in {"GET", "HEAD"} or b"authorization" in headers or b"x-api-key" in headers:
        return False
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site.strip().lower() == b"cross-site"
    if b"origin" not in headers:
        return False
    _, _, origin = headers[b"origin"].strip().lower().partition(b"://")
    return origin != headers.get(b"host", b"").strip().lower()


def _is_same_site(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether no page of another site sent it: such pages can reach a loopback address, too."""
    origin = headers.get(b"origin")
    if origin is None:
        return True
    scheme, _, host = origin.decode("latin-1").strip().lower().partition("://")
    return scheme in {"http", "https"} and _host_of({b"host": host.encode("latin-1")}) in _LOOPBACK_HOSTS
