"""Measure, print the table with its goals, and keep the figures: ``python -m bench [--short] [--json FILE]``."""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import apsw
from rich.console import Console
from rich.table import Table

import pausemesh
from bench import imports, pending, throughput
from bench.measure import FULL, SHORT, Row, Sizes

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run every measurement and print the rows."""
    arguments = _parser().parse_args()
    sizes = SHORT if arguments.short else FULL
    with tempfile.TemporaryDirectory(prefix="pausemesh-bench-") as folder:
        rows = [*imports.measure(sizes), *asyncio.run(throughput.measure(Path(folder), sizes))]
        rows += asyncio.run(pending.measure(Path(folder), sizes))
    _print(rows)
    target = arguments.json or (None if arguments.short else RESULTS / "sqlite.json")
    if target is not None:
        target.write_text(json.dumps(_record(rows, sizes), indent=2) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small sizes: shows that it runs, not how fast")
    parser.add_argument("--json", type=Path, help="where the figures are kept")
    return parser


def _print(rows: list[Row]) -> None:
    table = Table("what", "measured", "goal", "", title="PauseMesh on SQLite")
    for row in rows:
        verdict = "" if row.met is None else ("met" if row.met else "MISSED")
        table.add_row(row.name, row.shown, row.goal or "", verdict)
    Console(width=120).print(table)


def _record(rows: list[Row], sizes: Sizes) -> dict[str, object]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "processor": platform.machine()},
        "versions": {
            "pausemesh": pausemesh.__version__,
            "python": sys.version.split()[0],
            "sqlite": apsw.sqlite_lib_version(),
        },
        "sizes": sizes.as_json(),
        "rows": [row.as_json() for row in rows],
    }


if __name__ == "__main__":
    main()
