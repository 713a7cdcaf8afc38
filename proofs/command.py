"""The command: which proofs, of which size, with which seed; and the table at the end."""

import argparse
import dataclasses
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from proofs.claims import proof as claims
from proofs.fuzz import proof as fuzz
from proofs.http import proof as http
from proofs.images import proof as images
from proofs.kills import proof as kills
from proofs.postgres import cuts as postgres_cuts
from proofs.postgres import kills as postgres_kills
from proofs.postgres import positions as postgres_positions
from proofs.postgres import races as postgres_races
from proofs.postgres import standby as postgres_standby
from proofs.races import proof as races
from proofs.report import Report
from proofs.retries import proof as retries
from proofs.rules import proof as rules
from proofs.table import json_of, table_of

Size: TypeAlias = Any
"""Each proof has a dataclass of its own; ``rounds`` is a member of all of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Proof:
    """A proof and its sizes by name."""

    run: Callable[[Size, int, int], Report]
    sizes: Mapping[str, Size]


PROOFS: Final[dict[str, Proof]] = {
    "kills": Proof(kills.run, {"quick": kills.QUICK, "short": kills.SHORT}),
    "images": Proof(images.run, {"quick": images.QUICK, "short": images.SHORT}),
    "races": Proof(races.run, {"quick": races.QUICK, "short": races.SHORT}),
    "claims": Proof(claims.run, {"quick": claims.QUICK, "short": claims.SHORT}),
    "retries": Proof(retries.run, {"quick": retries.QUICK, "short": retries.SHORT}),
    "http": Proof(http.run, {"quick": http.QUICK, "short": http.SHORT}),
    "postgres-races": Proof(postgres_races.run, {"quick": postgres_races.QUICK, "short": postgres_races.SHORT}),
    "postgres-cuts": Proof(postgres_cuts.run, {"quick": postgres_cuts.QUICK, "short": postgres_cuts.SHORT}),
    "postgres-kills": Proof(postgres_kills.run, {"quick": postgres_kills.QUICK, "short": postgres_kills.SHORT}),
    "postgres-standby": Proof(postgres_standby.run, {"quick": postgres_standby.QUICK, "short": postgres_standby.SHORT}),
    "postgres-positions": Proof(
        postgres_positions.run, {"quick": postgres_positions.QUICK, "short": postgres_positions.SHORT}
    ),
    "fuzz": Proof(fuzz.run, {"quick": fuzz.QUICK, "short": fuzz.SHORT}),
    "rules": Proof(rules.run, {"quick": rules.QUICK, "short": rules.SHORT}),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run proofs and print what they found; return 0 where all is as expected, 1 where not."""
    given = _parser().parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        return _run_all(given)
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _frame: object) -> None:
    """End as on an interrupt: children are ended and folders removed on the way out."""
    sys.exit(128 + number)


def _run_all(given: argparse.Namespace) -> int:
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    reports: list[tuple[Report, float]] = []
    for name in given.only or PROOFS:
        print(f"{name}, {given.sizes}, seed {seed} …", flush=True)
        began = time.monotonic()
        report = _run(name, _size(PROOFS[name], given), seed, given.lanes)
        reports.append((report, time.monotonic() - began))
        print(f"{name} took {reports[-1][1]:.0f} s: {'as expected' if report.ok else 'NOT as expected'}", flush=True)
    print(table_of(reports))
    for report, _ in reports:
        for failure in report.failures:
            print(failure, file=sys.stderr)
    if given.json is not None:
        given.json.write_text(json.dumps(json_of(reports), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(report.ok for report, _ in reports) else 1


def _run(name: str, size: Size, seed: int, lanes: int) -> Report:
    """Run a proof; one that breaks is a failure like any other, and the next one is run all the same."""
    try:
        return PROOFS[name].run(size, seed, lanes)
    except Exception:  # noqa: BLE001 - it is reported
        broken = Report(name, seed)
        broken.fail([f"it broke: {traceback.format_exc()}"])
        return broken


def _size(proof: Proof, given: argparse.Namespace) -> Size:
    size = proof.sizes[given.sizes]
    return size if given.rounds is None else dataclasses.replace(size, rounds=given.rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m proofs", description="Try out at length what is promised.")
    add, lanes = parser.add_argument, min(os.cpu_count() or 1, 2)
    add("--sizes", choices=["quick", "short"], default="quick", help="how much of everything")
    add("--quick", dest="sizes", action="store_const", const="quick", help="the same as --sizes quick")
    add("--only", action="append", choices=[*PROOFS], metavar="NAME", help=f"one of {', '.join(PROOFS)}")
    add("--rounds", type=int, help="another number of rounds than the size has")
    add("--seed", type=int, help="of all random choices; a new one where it is left out")
    add("--lanes", type=int, default=lanes, help="how many processes share a proof, where it can be shared")
    add("--json", type=Path, metavar="FILE", help="where to write what was found")
    return parser
