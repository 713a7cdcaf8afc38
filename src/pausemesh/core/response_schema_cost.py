"""What a response schema may cost: cycles, size with references followed, checks on one value.

Each is found in time proportional to the document, whatever its references multiply to.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from pausemesh.core import limits

_LOOKS_AGAIN: Final = 3
"""How often a validator goes through what stands beside an ``unevaluated...`` keyword: once to judge,
and again to see what was evaluated. Measured: 2.6 times, at each level of such keywords."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subschema:
    """One subschema of a document: its own checks, and the pointers of those it applies.

    Attributes:
        checks: what its own keywords weigh.
        looks: how often a validator goes through ``here`` and ``contained``.
        here: applied to the same place, references included.
        member: applied to members of an object, one of them to each member.
        member_too: applied to members of an object, beside others.
        element: applied to elements of an array, one of them to each element.
        element_too: applied to elements of an array, beside others.
        contained: applied to elements of an array, beside others.
    """

    checks: int
    looks: int = 1
    here: tuple[str, ...] = ()
    member: tuple[str, ...] = ()
    member_too: tuple[str, ...] = ()
    element: tuple[str, ...] = ()
    element_too: tuple[str, ...] = ()
    contained: tuple[str, ...] = ()

    @property
    def applied(self) -> Iterator[str]:
        """The pointers of all subschemas that it applies anywhere."""
        yield from chain(self.here, self.member, self.member_too, self.element, self.element_too, self.contained)


def looks(keywords: Iterable[str]) -> int:
    """Return how often a validator goes through a subschema with these keywords."""
    return 1 if {"unevaluatedItems", "unevaluatedProperties"}.isdisjoint(keywords) else _LOOKS_AGAIN


def endless(found: Mapping[str, Subschema]) -> list[str]:
    """Return the pointers of subschemas that apply themselves to the same place again.

    One for each cycle that is met. None: each way of applying subschemas ends, since every round
    of it goes further into the answer.
    """
    _, closing = _inner_first(found, lambda pointer: found[pointer].here)
    return closing


def expanded_size(found: Mapping[str, Subschema]) -> int:
    """Count the subschemas with each reference replaced by its target, from the root.

    A reference back to a subschema that it is part of counts as one.
    """
    order, _ = _inner_first([""], lambda pointer: found[pointer].applied)
    sizes: dict[str, int] = {}
    for pointer in order:
        sizes[pointer] = 1 + sum(sizes.get(inner, 1) for inner in found[pointer].applied)
    return sizes[""]


def checks_per_value(found: Mapping[str, Subschema], most: int) -> int:
    """Bound the checks on any one value of any answer; above ``most`` it may stop counting.

    Productive recursion is worth what it costs: a list of itself takes the same at every depth of
    an answer, while two recursions side by side double at each and are over any bound soon.
    ``found`` has no endless recursion.
    """
    order, _ = _inner_first(found, lambda pointer: found[pointer].here)
    deeper: dict[str, int] = {}
    for pointer in order:
        inner = found[pointer]
        own = inner.checks + inner.looks * sum(deeper[other] for other in inner.here)
        deeper[pointer] = min(own, most + 1)
    highest = deeper[""]
    for _ in range(limits.JSON_DEPTH):
        last, deeper = deeper, _one_level_deeper(found, order, deeper, most)
        highest = max(highest, deeper[""])
        if highest > most or deeper == last:
            break
    return highest


def _one_level_deeper(
    found: Mapping[str, Subschema], order: Iterable[str], above: Mapping[str, int], most: int
) -> dict[str, int]:
    """Bound the checks one level further into an answer; a value is in an object or in an array."""
    members: dict[str, int] = {}
    elements: dict[str, int] = {}
    value, member, element = above.__getitem__, members.__getitem__, elements.__getitem__
    for pointer in order:
        inner = found[pointer]
        here = inner.looks * sum(map(member, inner.here))
        one = max(map(value, inner.member), default=0)
        members[pointer] = min(here + one + sum(map(value, inner.member_too)), most + 1)
        here = inner.looks * (sum(map(element, inner.here)) + sum(map(value, inner.contained)))
        one = max(map(value, inner.element), default=0)
        elements[pointer] = min(here + one + sum(map(value, inner.element_too)), most + 1)
    return {pointer: max(members[pointer], elements[pointer]) for pointer in order}


def _inner_first(starts: Iterable[str], inner: Callable[[str], Iterable[str]]) -> tuple[list[str], list[str]]:
    """Order what can be reached so that inner ones stand first; and name where that cannot be."""
    order: list[str] = []
    closing: list[str] = []
    is_done: dict[str, bool] = {}
    way: list[tuple[str, Iterator[str]]] = []
    for start in starts:
        if start not in is_done:
            is_done[start] = False
            way.append((start, iter(inner(start))))
        while way:
            pointer, rest = way[-1]
            for other in rest:
                if other not in is_done:
                    is_done[other] = False
                    way.append((other, iter(inner(other))))
                    break
                if not is_done[other]:
                    closing.append(other)
            else:
                way.pop()
                is_done[pointer] = True
                order.append(pointer)
    return order, closing
