"""The parsers under seeded mutations, without anything that has to be installed for it."""

import dataclasses
import json
import random
from typing import Final

from proofs.children import Line, in_lanes
from proofs.fuzz.mutating import fuzz
from proofs.fuzz.targets import TARGETS, Target
from proofs.report import NONE, SOME, Report

_CONTROL_SECONDS: Final = 1.0
_NAIVE: Final = Target(json.loads, (b"{}", b"[1]"))
"""What a parser is that lets its own errors out."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many seconds each parser is fuzzed."""

    rounds: int


QUICK: Final = Size(rounds=20)
SHORT: Final = Size(rounds=5)


def run(size: Size, seed: int, lanes: int) -> Report:
    """Fuzz every parser."""
    report = Report("fuzz", seed)
    names = [*TARGETS]
    found: Line = {}
    for line in in_lanes(lambda lane: _fuzz_all(names[lane::lanes], size, seed), lanes):
        found |= line
    for name in names:
        promise = f"the {name} parser raises typed errors alone, and soon"
        report.fail(f"{name}: {fault}" for fault in found[name]["faults"])
        report.count(promise, found[name]["tried"], "inputs", found[name]["tried"], SOME)
        report.count(promise, found[name]["tried"], "faults", len(found[name]["faults"]), NONE)
    tried, faults = fuzz(_NAIVE, _CONTROL_SECONDS, random.Random(seed))
    report.count("control: a parser that lets its own errors out", tried, "faults", len(faults), SOME)
    return report


def _fuzz_all(names: list[str], size: Size, seed: int) -> Line:
    found: Line = {}
    for name in names:
        tried, faults = fuzz(TARGETS[name], size.rounds, random.Random(f"{seed}/{name}"))
        found[name] = {"tried": tried, "faults": faults[:5]}
    return found
