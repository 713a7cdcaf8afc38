"""Which look-ups and claims are well formed; looked at before anything is looked up."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from pausemesh.core import limits
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.records import Lease
from pausemesh.stores.plain_values import INTEGER_BELOW, is_a, is_count, is_name, is_text, is_time

NAME: Final = "must be text that is not empty, without U+0000 and lone surrogates"
_TEXT: Final = "must be text without U+0000 and lone surrogates"
_LEASE_MOST: Final = timedelta(seconds=limits.LEASE_MAX_SECONDS)
_LEASE: Final = f"must be positive and at most {limits.LEASE_MAX_SECONDS} seconds"
_PAIR: Final = 2


def check_name(value: object, place: str) -> None:
    """Pass a name that every store can keep: not empty, and plain text.

    Raises:
        InvalidRequest: it is anything else; ``place`` is a JSON Pointer.
    """
    if not is_name(value):
        raise _refusal(place, "text", NAME)


def check_names(*names: object) -> None:
    """Pass names of what is looked for, as ``check_name``.

    Raises:
        InvalidRequest: one is anything else.
    """
    for name in names:
        check_name(name, "")


def check_list_of_names(names: object) -> None:
    """Pass several names at once; text is not a list of its characters.

    Raises:
        InvalidRequest: it is no list or tuple, or one is no name.
    """
    if not isinstance(names, list | tuple):
        raise _refusal("", "names", "must be a list or tuple of names")
    check_names(*names)


def check_refs(refs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return a copy of the names of streams that are pairs of scope and stream.

    Raises:
        InvalidRequest: it is no list or tuple of such pairs.
    """
    if not isinstance(refs, list | tuple):
        raise _refusal("", "refs", "must be a list or tuple of (scope, stream)")
    for ref in refs:
        if not is_a(ref, tuple) or len(ref) != _PAIR:
            raise _refusal("", "refs", "must be (scope, stream)")
        check_names(*ref)
    return tuple(refs)


def check_text(value: object) -> None:
    """Pass text that may be empty.

    Raises:
        InvalidRequest: it is anything else.
    """
    if value is None or not is_text(value):
        raise _refusal("/after", "text", _TEXT)


def check_cursor(after: object, kind: type[str] | type[UUID]) -> None:
    """Pass a cursor: None, or a pair of a time and a name or id.

    Raises:
        InvalidRequest: it is anything else.
    """
    if after is None:
        return
    if not isinstance(after, tuple) or len(after) != _PAIR or not is_time(after[0]) or not is_a(after[1], kind):
        raise _refusal("/after", "cursor", f"must be (time with a zone, {kind.__name__}), or None")
    if kind is str:
        check_name(after[1], "/after")


def check_position(after: object) -> None:
    """Pass where a list of names goes on: None, or a pair of texts.

    Raises:
        InvalidRequest: it is anything else.
    """
    if after is None:
        return
    if not isinstance(after, tuple) or len(after) != _PAIR:
        raise _refusal("/after", "position", "must be (scope, stream), or None")
    for text in after:
        check_text(text)


def check_seq(seq: object) -> None:
    """Pass a place in the log.

    Raises:
        InvalidRequest: it is not an integer of 64 bits.
    """
    if type(seq) is not int or not -INTEGER_BELOW <= seq < INTEGER_BELOW:
        raise _refusal("/after_seq", "seq", "must be an integer")


def check_lease(lease: object) -> None:
    """Pass the length of a lease.

    Raises:
        InvalidRequest: it is not positive, or too long.
    """
    if type(lease) is not timedelta or not timedelta(0) < lease <= _LEASE_MOST:
        raise _refusal("/lease", "lease", _LEASE)


def check_held(held: object) -> None:
    """Pass a lease as a store gave it.

    Raises:
        InvalidRequest: it is anything else.
    """
    if not (
        isinstance(held, Lease)
        and is_name(held.scope)
        and is_name(held.stream)
        and is_name(held.worker)
        and is_count(held.fence)
    ):
        raise _refusal("/held", "lease", "must be a Lease")


def check_limit(limit: object) -> None:
    """Pass how many rows are wanted at most.

    Raises:
        InvalidRequest: it is not a positive integer.
    """
    if type(limit) is not int or not 1 <= limit < INTEGER_BELOW:
        raise _refusal("/limit", "limit", "must be a positive integer")


def _refusal(place: str, rule: str, message: str) -> InvalidRequest:
    return InvalidRequest(issues=[Issue(place, rule, message)])
