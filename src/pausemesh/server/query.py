"""Query strings: known names, each once, read strictly."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.limits import PAGE_MAX
from pausemesh.core.values import time_from_text
from pausemesh.server import limits
from pausemesh.server.errors import CredentialInUrl

_MOST_PARAMETERS: Final = 32
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_SECONDS: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")
_CREDENTIAL: Final = re.compile(r"pm[rk]_[0-9A-Za-z]{16}")
_CREDENTIAL_NAME: Final = re.compile(r"(?:^|&)(?:access_token|token|api_?key|authorization)=", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a query: its name, how it is read, its JSON Schema and what it is for."""

    name: str
    read: Callable[[str, str], Any]
    schema: Mapping[str, Any]
    about: str


def refuse_credentials(path: str, query: bytes) -> None:
    """Pass a URL without anything that looks like a credential.

    Raises:
        CredentialInUrl: it has one.
    """
    if _CREDENTIAL.search(path):
        raise CredentialInUrl
    text = unquote_plus(query.decode("latin-1"))
    if _CREDENTIAL.search(text) or _CREDENTIAL_NAME.search(text):
        raise CredentialInUrl


def read_query(raw: bytes, known: tuple[Parameter, ...]) -> dict[str, Any]:
    """Return the parameters that are given, as their readers read them.

    Raises:
        InvalidRequest: one is unknown, stands twice, or is not what it must be.
    """
    if not raw:
        return {}
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise _bad("", "cannot be read") from None
    parameters = {parameter.name: parameter for parameter in known}
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in parameters:
            raise _bad("", f"has a parameter that is none of {', '.join(sorted(parameters)) or 'any'}")
        if name in found:
            raise _bad(f"/{name}", "stands twice")
        found[name] = parameters[name].read(value, f"/{name}")
    return found


def read_text(value: str, _path: str) -> str:
    """Return text as it is; who uses it judges it."""
    return value


def read_one_of(known: Iterable[str]) -> Callable[[str, str], str]:
    """Return a reader that knows these words and no other."""
    words = tuple(known)

    def read(value: str, path: str) -> str:
        if value not in words:
            raise _bad(path, f"must be one of {', '.join(words)}")
        return value

    return read


def read_limit(value: str, path: str) -> int:
    """Return how many rows a page may have, 1 to 200."""
    if not _NUMBER.fullmatch(value) or not 1 <= int(value) <= PAGE_MAX:
        raise _bad(path, f"must be 1 to {PAGE_MAX}")
    return int(value)


def read_wait(value: str, path: str) -> float:
    """Return seconds, at most 25."""
    if not _SECONDS.fullmatch(value) or float(value) > limits.WAIT_SECONDS:
        raise _bad(path, f"must be 0 to {limits.WAIT_SECONDS:g} seconds")
    return float(value)


def read_time(value: str, path: str) -> datetime:
    """Return a UTC time: RFC 3339 with ``Z``, and nothing else.

    Raises:
        InvalidRequest: it is anything else.
    """
    if _TIME.fullmatch(value):
        try:
            return time_from_text(_to_microseconds(value))
        except ValueError:
            pass
    raise InvalidRequest(issues=[Issue(path, "time", "must be a UTC time like 2026-12-01T09:30:00Z")])


def _to_microseconds(value: str) -> str:
    """Cut digits beyond microseconds, which Python cannot read."""
    whole, dot, fraction = value.removesuffix("Z").partition(".")
    return f"{whole}{dot}{fraction[:6]}Z"


def _bad(path: str, message: str) -> InvalidRequest:
    return InvalidRequest(issues=[Issue(path, "query", message)])
