"""What clients were told: every request with its answers, and with the times that it was cut."""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from proofs.children import Line

DOUBT: Final = frozenset({"OUTCOME_UNKNOWN", "OVERLOADED"})
"""Refusals that do not say what became of the request."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer that came whole, from the server of one life."""

    life: int
    status: int
    body: Any
    digest: str | None

    @property
    def is_yes(self) -> bool:
        """Whether it says that it is done."""
        return self.status < 300

    @property
    def code(self) -> str:
        """The code of a refusal; empty for a success."""
        return "" if self.is_yes else str(self.body["code"])


@dataclasses.dataclass(slots=True, kw_only=True)
class Asked:
    """A request and all that is known of it.

    Attributes:
        told: each answer, and for each time that it was cut the life of the server then, in their order.
    """

    do: str
    mark: str
    about: Line
    told: list[Heard | int] = dataclasses.field(default_factory=list)

    @property
    def answers(self) -> list[Heard]:
        """The answers that came whole."""
        return [one for one in self.told if isinstance(one, Heard)]

    @property
    def unheard(self) -> set[int]:
        """The lives of the servers that, before a success was told, did not answer, or did not know."""
        first = self.granted[0] if self.granted else None
        before = self.told[: None if first is None else self.told.index(first)]
        return {one if isinstance(one, int) else one.life for one in before if not _is_sure(one)}

    @property
    def granted(self) -> list[Heard]:
        """The answers that say that it is done."""
        return [answer for answer in self.answers if answer.is_yes]

    @property
    def doubted(self) -> list[Heard]:
        """The answers that say that the outcome is unknown."""
        return [answer for answer in self.answers if answer.code in DOUBT]

    @property
    def is_settled(self) -> bool:
        """Whether the last answer says what became of it."""
        return bool(self.told) and _is_sure(self.told[-1]) and self.answers[-1].status != 503

    def __str__(self) -> str:
        known = " ".join(f"{name}={value}" for name, value in self.about.items())
        return f"{self.do} {self.mark} {known}, told {[_short(one) for one in self.told]}"


class Told:
    """All that clients were told.

    Attributes:
        asked: every request.
        runs: how often each effect, by (continuation, key), really happened.
        cuts: how often a proxy cut, by where.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.runs: Counter[tuple[str, str]] = Counter()
        self.cuts: Counter[str] = Counter()
        by_number: dict[int, Asked] = {}
        for line in lines:
            if "do" in line:
                about = {name: value for name, value in line.items() if name not in {"n", "do", "mark"}}
                by_number[line["n"]] = Asked(do=line["do"], mark=line["mark"], about=about)
            elif "cut" in line:
                by_number[line["n"]].told.append(line["cut"])
            elif "status" in line:
                members = {name: line[name] for name in ("life", "status", "body", "digest")}
                by_number[line["n"]].told.append(Heard(**members))
            elif "ran" in line:
                noun_id, key = line["ran"]
                self.runs[noun_id, key] += 1
            elif "finished" in line:
                self.cuts.update(line["cuts"])
        self.asked = list(by_number.values())


def _is_sure(one: Heard | int) -> bool:
    """Tell whether it says what became of the request."""
    return isinstance(one, Heard) and one.code not in DOUBT


def _short(one: Heard | int) -> str:
    return f"cut in life {one}" if isinstance(one, int) else f"{one.status} {one.code} in life {one.life}"
