"""What a killed process had said: what was acknowledged, what was refused, and what nobody knows."""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from proofs.children import Line


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments, and its answer where that came."""

    do: str
    arguments: Line
    answer: Line | None = None

    @property
    def mark(self) -> str:
        """What is stored with it and with nothing else."""
        return str(self.arguments["mark"])


class Told:
    """All calls of a process, sorted by what became of them.

    Attributes:
        acknowledged: returned.
        refused: told a typed error.
        unanswered: under way when the process died, or in doubt.
        runs: how often each effect, by (continuation, key), really happened.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.acknowledged: list[Call] = []
        self.refused: list[Call] = []
        self.runs: Counter[tuple[str, str]] = Counter()
        asked: dict[int, Line] = {}
        for line in lines:
            if "do" in line:
                asked[line["n"]] = line
            elif "ok" in line:
                asking = asked.pop(line["n"])
                self.acknowledged.append(Call(asking["do"], asking, line["ok"]))
            elif "no" in line:
                asking = asked.pop(line["n"])
                self.refused.append(Call(asking["do"], asking))
            elif "ran" in line:
                noun_id, key = line["ran"]
                self.runs[noun_id, key] += 1
        self.unanswered = [Call(asking["do"], asking) for asking in asked.values()]
