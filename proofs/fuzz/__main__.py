"""The long fuzzing: ``python -m proofs.fuzz parsers`` and ``python -m proofs.fuzz interface``.

What either needs beside PauseMesh is set up by ``make fuzz-quick``.
"""

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

from proofs.fuzz import interface, parsers
from proofs.fuzz.targets import TARGETS
from proofs.table import json_of, table_of


def main() -> int:
    """Fuzz, print what was found, and return 0 where all is as expected."""
    given = _parser().parse_args()
    seed = random.SystemRandom().randrange(2**31) if given.seed is None else given.seed
    print(f"{given.what}, seed {seed} …", flush=True)
    begun = time.monotonic()
    if given.what == "interface":
        report = interface.run(given.tool.absolute(), given.cases, seed)
    else:
        report = parsers.run(given.only or [*TARGETS], given.seconds, seed, given.lanes)
    reports = [(report, time.monotonic() - begun)]
    print(table_of(reports))
    for failure in report.failures:
        print(failure, file=sys.stderr)
    if given.json is not None:
        given.json.write_text(json.dumps(json_of(reports), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if report.ok else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m proofs.fuzz", description="Send what nobody would send.")
    add, lanes = parser.add_argument, min(os.cpu_count() or 1, 2)
    add("what", choices=["parsers", "interface"])
    add("--seed", type=int, help="of all random choices; a new one where it is left out")
    add("--seconds", type=int, default=60, help="how long each parser is fuzzed")
    add("--only", action="append", choices=[*TARGETS], help="one of the parsers")
    add("--lanes", type=int, default=lanes, help="how many parsers are fuzzed at once")
    add("--cases", type=int, default=5_000, help="how many requests are sent to the interface")
    add("--tool", type=Path, default=Path("build/fuzz/bin/schemathesis"), help="schemathesis, in its own environment")
    add("--json", type=Path, metavar="FILE", help="where to write what was found")
    return parser


if __name__ == "__main__":
    sys.exit(main())
